import { type Dispatcher, request } from "undici";
import { UnreadableAnswer } from "./answer/answer-reader.ts";
import { AttemptFailure, beginningOf, headerReader, readJson } from "./attempt.ts";
import { kindOfOwner } from "./dialect/kinds.ts";
import { replicaRoot } from "./dialect/replica-root.ts";
import type { UpstreamKind } from "./dialect/upstream-config.ts";

/** A model as an upstream lists it. */
export interface ListedModel {
  id: string;
  kind: UpstreamKind;
  /** Tokens of the longest request; null where the list does not say. */
  context: number | null;
  /** Requests that are computed at once; null where the upstream does not say. */
  slots: number | null;
}

/** Bytes of a list of models, and models of one that are read. */
export const MOST_LIST_BYTES = 4 * 1024 * 1024;
export const MOST_MODELS = 1000;
const MOST_ID_CHARACTERS = 256;
/** Milliseconds that the list may take. */
export const LIST_TIMEOUT_MS = 10_000;

type Fetching = { dispatcher?: Dispatcher };

/** The models that a replica serves: the check of its health too, since it costs nothing. Throws AttemptFailure. */
async function listModels(
  url: string,
  headers: Readonly<Record<string, string>>,
  { dispatcher }: Fetching,
  signal: AbortSignal,
): Promise<ListedModel[]> {
  const list = await fetchJson(`${url}/models`, headers, dispatcher, signal);
  const { data } = Object(list) as { data?: unknown };
  if (!Array.isArray(data)) throw new AttemptFailure({ kind: "broken" });
  return data.slice(0, MOST_MODELS).flatMap((entry) => {
    const { id, owned_by, max_model_len, meta, nightshift }: Record<string, unknown> = Object(entry);
    if (typeof id !== "string" || id === "" || id.length > MOST_ID_CHARACTERS) return [];
    // An alias is a further name of a model that the list has.
    if (Object(nightshift).alias_of != null) return [];
    const context = countOf(max_model_len) ?? countOf(Object(nightshift).context) ?? countOf(Object(meta).n_ctx);
    return [{ id, kind: kindOfOwner(owned_by), context, slots: null }];
  });
}

/** The same, with the slots of a llama-server, and with their context where its list does not have it. */
export async function replicaModels(
  url: string,
  headers: Readonly<Record<string, string>>,
  fetching: Fetching,
  signal: AbortSignal,
): Promise<ListedModel[]> {
  const models = await listModels(url, headers, fetching, signal);
  if (!models.some(({ kind }) => kind === "llama-server")) return models;
  const { context, slots } = await llamaSlots(url, headers, fetching, signal);
  return models.map((model) => ({ ...model, context: model.context ?? context, slots }));
}

/** The slots of a llama-server, and the tokens of one request in them; null where it does not answer. */
async function llamaSlots(
  url: string,
  headers: Readonly<Record<string, string>>,
  { dispatcher }: Fetching,
  signal: AbortSignal,
): Promise<Pick<ListedModel, "context" | "slots">> {
  try {
    const props = await fetchJson(`${replicaRoot(url)}/props`, headers, dispatcher, signal);
    const { default_generation_settings: settings, total_slots: slots }: Record<string, unknown> = Object(props);
    return { context: countOf(Object(settings).n_ctx), slots: countOf(slots) };
  } catch {
    return { context: null, slots: null };
  }
}

async function fetchJson(
  url: string,
  headers: Readonly<Record<string, string>>,
  dispatcher: Dispatcher | undefined,
  signal: AbortSignal,
): Promise<unknown> {
  try {
    const answer = await request(url, {
      ...(dispatcher !== undefined && { dispatcher }),
      headers: { ...headers },
      signal: AbortSignal.any([signal, AbortSignal.timeout(LIST_TIMEOUT_MS)]),
    });
    const { statusCode: status, body } = answer;
    if (status === 200) return await readJson(body, MOST_LIST_BYTES);
    throw new AttemptFailure({
      kind: "response",
      status,
      header: headerReader(answer.headers),
      body: await beginningOf(body),
    });
  } catch (error) {
    if (error instanceof AttemptFailure) throw error;
    if (error instanceof UnreadableAnswer) throw new AttemptFailure({ kind: "broken" }, error);
    throw new AttemptFailure({ kind: "network", code: String(Object(error).code ?? "") }, error);
  }
}

function countOf(value: unknown): number | null {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : null;
}
