import { type UpstreamReport, upstreamList } from "../../openapi/resources/upstreams.ts";
import { ApiClient } from "./client/api-client.ts";
import { columns } from "./text/columns.ts";
import { grouped } from "./text/number-text.ts";

export interface UpstreamsFlags {
  /** Base URL of the server, such as http://127.0.0.1:8080/v1. */
  url?: string;
  json?: boolean;
}

type Replica = UpstreamReport["replicas"][number];

/** Prints the upstreams of a server. Throws OptionsError. */
export async function upstreamsCommand(flags: UpstreamsFlags): Promise<void> {
  const { data } = await new ApiClient(flags.url, process.env).call("GET", "nightshift/upstreams", upstreamList);
  process.stdout.write(flags.json ? `${JSON.stringify(data, null, 2)}\n` : upstreamsText(data));
}

export function upstreamsText(upstreams: readonly UpstreamReport[]): string {
  if (upstreams.length === 0) return "This server has no upstreams: --upstream name=url adds one.\n";
  return `${upstreams.map(upstreamText).join("\n\n")}\n`;
}

function upstreamText({ name, kind, models, queued, replicas }: UpstreamReport): string {
  const errors = replicas.flatMap(({ url, last_error: error }) => (error === null ? [] : [`  ${url}: ${error}`]));
  return [
    `Upstream '${name}' (${kind})${queued === 0 ? "" : `; ${grouped(queued)} requests of flex and batch wait for a place`}`,
    "",
    ...(models.length === 0 ? ["No models were found yet."] : columns([MODEL_HEAD, ...models.map(modelRow)], 3)),
    "",
    ...columns([REPLICA_HEAD, ...replicas.map(replicaRow)], 2),
    ...(errors.length === 0 ? [] : ["", "Last errors:", ...errors]),
  ].join("\n");
}

const MODEL_HEAD = ["model", "id there", "state", "context"];

function modelRow({ id, upstream_id, state, context }: UpstreamReport["models"][number]): string[] {
  return [id, upstream_id, state, context === null ? "-" : grouped(context)];
}

const REPLICA_HEAD = [
  "replica",
  "state",
  "weight",
  "online",
  "flex+batch",
  "limit",
  "running",
  "waiting",
  "KV",
  "report",
];

function replicaRow(replica: Replica): string[] {
  const { url, weight, in_flight: inFlight, limit, load } = replica;
  const said = (value: number | null | undefined) => (value == null ? "-" : grouped(value));
  return [
    url,
    stateOf(replica),
    String(weight),
    grouped(inFlight.online),
    grouped(inFlight.lower_tiers),
    grouped(limit),
    said(load?.running),
    said(load?.waiting),
    load?.kv_usage == null ? "-" : `${Math.round(100 * load.kv_usage)} %`,
    load === null ? "none" : `${secondsOf(load.age_ms)} ago`,
  ];
}

function stateOf({ healthy, breaker, paused_ms: pausedMs }: Replica): string {
  if (!healthy) return "down";
  if (breaker.state === "open") return `breaker open, ${secondsOf(breaker.retry_in_ms)}`;
  if (breaker.state === "half-open") return "breaker half-open";
  return pausedMs > 0 ? `paused, ${secondsOf(pausedMs)}` : "up";
}

function secondsOf(ms: number): string {
  return `${grouped(Math.ceil(ms / 1000))} s`;
}
