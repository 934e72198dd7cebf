import {
  DEFAULT_CONTEXT,
  type UpstreamConfig,
  type UpstreamKind,
} from "../../engine/upstream/dialect/upstream-config.ts";
import type { ReplicaCheck, UpstreamCheck } from "./upstream-check.ts";

type Setting = Pick<UpstreamConfig, "kind" | "models" | "apiKey" | "context">;

/** The option that turns the metrics of an engine on, where they are off by default. */
const METRICS_FLAG: Partial<Record<UpstreamKind, string>> = {
  "llama-server": "start it with --metrics",
  sglang: "start it with --enable-metrics",
};
const TTFT_ALONE = "the limit of flex and batch follows the time to the first token alone";

/** Problems of an upstream with what helps; none where all is well. */
export function upstreamAdvice({ name, kind, replicas }: UpstreamCheck, setting: Setting): string[] {
  return [
    ...replicas.flatMap((replica) => replicaAdvice(replica, kind, setting)),
    ...missingModels(replicas, setting),
    ...contextAdvice(replicas, setting),
    ...kindAdvice(name, kind, setting),
  ];
}

function replicaAdvice(
  { url, models, failure, metrics }: ReplicaCheck,
  kind: UpstreamKind | null,
  setting: Setting,
): string[] {
  if (failure !== null) return [failureAdvice(url, failure, setting)];
  const notes: string[] = [];
  if (models?.length === 0) notes.push(`${url} lists no models: is one loaded?`);
  if (metrics === false) {
    const remedy = (kind === null ? undefined : METRICS_FLAG[kind]) ?? "let this server read its /metrics";
    notes.push(`${url} has no readable /metrics: ${TTFT_ALONE}. To have its queue read, ${remedy}.`);
  }
  if (setting.apiKey !== null && !isSecret(url))
    notes.push(`${url} gets its API key without TLS: use https, unless you trust the network.`);
  return notes;
}

function failureAdvice(url: string, { reason, fault }: NonNullable<ReplicaCheck["failure"]>, setting: Setting): string {
  switch (fault) {
    case "key":
      return setting.apiKey === null
        ? `${url} asks for an API key: set apiKeyEnv or apiKeyFile (it says: ${reason}).`
        : `${url} refuses the API key: check apiKeyEnv or apiKeyFile (it says: ${reason}).`;
    case "path":
      return `${url} has no list of models at /models: check the path of its URL, such as /v1 or /openai/v1 (it says: ${reason}).`;
    default:
      return `${url} does not list its models (${reason}): is the engine running, and is this its address?`;
  }
}

/** Configured ids that no replica has, and models that some replicas lack. */
function missingModels(replicas: readonly ReplicaCheck[], { models: wanted }: Setting): string[] {
  const listing = replicas.filter((replica) => replica.models !== null);
  const all = new Set(listing.flatMap(({ models }) => models?.map(({ id }) => id) ?? []));
  const absent = Object.values(wanted ?? {}).filter((id) => listing.length > 0 && !all.has(id));
  const uneven = [...all].filter((id) => listing.some(({ models }) => !models?.some((model) => model.id === id)));
  return [
    ...absent.map(
      (id) => `No replica lists the model '${id}'; listed are: ${[...all].slice(0, 8).join(", ") || "none"}.`,
    ),
    ...uneven.map((id) => `Not every replica lists '${id}': replicas of one upstream serve the same models.`),
  ];
}

function contextAdvice(replicas: readonly ReplicaCheck[], { context }: Setting): string[] {
  const listed = replicas.flatMap(({ models }) => models ?? []);
  return [...new Set(listed.map(({ id }) => id))].flatMap((id) => {
    const contexts = new Set(listed.filter((model) => model.id === id).map((model) => model.context));
    if (contexts.size > 1) return [`Replicas serve '${id}' with different contexts: the smallest one counts.`];
    if (!contexts.has(null) || context !== null) return [];
    const assumed = DEFAULT_CONTEXT.toLocaleString("en-US");
    return [`The context of '${id}' is not told: ${assumed} tokens are assumed. Set context, if it is shorter.`];
  });
}

function kindAdvice(name: string, kind: UpstreamKind | null, setting: Setting): string[] {
  if (setting.kind !== null || kind !== "openai") return [];
  return [
    `The kind of '${name}' is not told, so that it is taken as openai: only fields of OpenAI's own API are sent, and ` +
      `${TTFT_ALONE}. Set kind where it is another engine.`,
  ];
}

/** True for TLS, and for an address of this machine. */
function isSecret(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === "https:" || /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname);
}
