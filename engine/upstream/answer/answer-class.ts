import { readError, readErrorBody, type UpstreamError } from "./error-body.ts";
import { refusedFeature } from "./refused-feature.ts";
import { type HeaderOf, requestedWaitMs } from "./requested-wait.ts";

/** Whose fault a failed answer of an upstream is, and thereby all that follows from it. */
export type AnswerClass = "busy" | "gone" | "fault" | "ours" | "client";

/** The fault in class `ours`: the API key, its funds, the model's name, the base URL, the fields `priority` and `max_tokens`. */
export type OwnFault = "key" | "funds" | "model" | "path" | "priority" | "max_tokens";

/** A failure of one request to an upstream. A request that was cancelled from here has none. */
export type Failure =
  /** A response other than 2xx; `body` is its beginning. */
  | { kind: "response"; status: number; header: HeaderOf; body: string }
  /** An error in place of an answer, in the body or in an event of a 2xx response. */
  | { kind: "event"; event: unknown; header: HeaderOf }
  /** No response, or a connection that broke: the code of Node's or undici's error. */
  | { kind: "network"; code: string }
  /** A 2xx response that is no answer: not JSON, over a bound, or a stream that ended before its end was said. */
  | { kind: "broken" };

/** Further facts that the class depends on. */
export interface FailureContext {
  /** True once content of the answer was read: what comes then is no refusal. */
  content: boolean;
  /** False while the replica's health check fails: its 503 then says more than that it is busy. */
  healthy: boolean;
  /** True where the request had the field `priority`. */
  priority: boolean;
}

export interface Classified {
  class: AnswerClass;
  /** Of class `ours` only. */
  fault: OwnFault | null;
  /** Milliseconds, up to a minute, that the upstream asks to wait; null where it asks for none. */
  retryAfterMs: number | null;
  /** The error as the upstream wrote it; null where there was no text. */
  error: UpstreamError | null;
}

/**
 * | class | means | breaker | concurrency | the same request again |
 * |---|---|---|---|---|
 * | busy | overloaded, otherwise healthy | | decreases | elsewhere, or later |
 * | gone | not reachable, not ready, or not answering | counts | | elsewhere, or later |
 * | fault | it failed at the request | counts | | elsewhere, or later |
 * | ours | Nightshift's configuration is wrong for it | | | as `OWN_RETRY` says |
 * | client | the request itself is wrong | | | fails again |
 */
export const CONSEQUENCES: Readonly<Record<AnswerClass, { breaker: boolean; limit: boolean; retry: boolean }>> = {
  busy: { breaker: false, limit: true, retry: true },
  gone: { breaker: true, limit: false, retry: true },
  fault: { breaker: true, limit: false, retry: true },
  ours: { breaker: false, limit: false, retry: false },
  client: { breaker: false, limit: false, retry: false },
};

/** True where the same request may succeed: on a replica that has the model, without the field, or with its newer name. */
const OWN_RETRY: Readonly<Record<OwnFault, boolean>> = {
  key: false,
  funds: false,
  model: true,
  path: false,
  priority: true,
  max_tokens: true,
};

/** True when the request may be sent again, provided that its client has seen nothing of an answer. */
export function mayRetry({ class: name, fault }: Classified): boolean {
  return fault === null ? CONSEQUENCES[name].retry : OWN_RETRY[fault];
}

/** @param nowMs Unix milliseconds, for dates in Retry-After */
export function classify(failure: Failure, context: FailureContext, nowMs: number): Classified {
  switch (failure.kind) {
    case "network":
      return of(NOT_HTTP.test(failure.code) ? "fault" : "gone", null, null);
    case "broken":
      return of("fault", null, null);
    case "response": {
      const error = readErrorBody(failure.body);
      return { ...byStatus(failure.status, error, failure.header, context), ...waitOf(failure.header, nowMs) };
    }
    case "event": {
      const error = readError(failure.event);
      return { ...byEvent(error, failure.header, context), ...waitOf(failure.header, nowMs) };
    }
  }
}

/** The peer answers, in something other than HTTP. */
const NOT_HTTP = /^(HPE_|UND_ERR_RES_EXCEEDED|UND_ERR_RESPONSE_EXCEEDED|UND_ERR_HEADERS_OVERFLOW)/;

/** Words of errors without a status, as engines and gateways write them. */
const BUSY_WORDS =
  /queue is full|overloaded|rate.?limit|too many requests|aborted by a higher.priority|at capacity|\b(429|529)\b/i;
const BUSY_TYPES =
  /^(overloaded|overloaded_error|rate_limit_error|rate_limit_exceeded|RateLimitError|server_is_overloaded)$/;
/** A 503 of what stands before replicas and has none, of a replica that loads, and of a server that ends. */
const GONE_WORDS =
  /no.(healthy|available|ready).(upstream|endpoint|worker|server|replica|instance)|no.endpoints|endpoint candidates|upstream connect error|loading model|shutting.down/i;
const GONE_CODES = /^(model_loading|engine_restarting|engine_died|server_shutting_down|too_many_connections)$/;
/** The header of the llm-d router and its reasons. */
const DROPPED = "x-llm-d-request-dropped-reason";
const GONE_REASONS = /no-endpoints|shutting-down|internal/;
/** A 429 that no wait heals. */
const NO_FUNDS =
  /insufficient_quota|billing_hard_limit|insufficient (credit|balance|funds)|exceeded your current quota/i;
/** vLLM without `--scheduling-policy priority`, and APIs that know no such field. */
const PRIORITY_WORDS =
  /priority scheduling is (not enabled|disabled)|(unknown|unrecognized|unsupported|unexpected|extra|additional)[^.]{0,80}\bpriority\b|\bpriority\b[^.]{0,40}(not (supported|permitted|allowed)|unsupported|unknown)/i;

function byStatus(status: number, error: UpstreamError, header: HeaderOf, context: FailureContext): Classified {
  if (status < 300) return of("fault", error);
  if (status < 400 || status === 405) return own("path", error);
  if (status === 429) return isUnfunded(error) ? own("funds", error) : of("busy", error);
  if (status === 529) return of("busy", error);
  // Gateways give up so on requests that were queued too long.
  if (status === 408) return of("busy", error);
  if (status === 503) return of(isGone(error, header) || !context.healthy ? "gone" : "busy", error);
  if (status === 502 || status === 504 || (status >= 520 && status <= 527)) return of("gone", error);
  // llama-server without templates has this status for tools.
  if (status === 501 || (status === 500 && refusedFeature(error) !== null)) return of("client", error);
  if (status >= 500) return of("fault", error);
  if (error.code === "model_not_found") return own("model", error);
  if (status === 401 || status === 403) return own("key", error);
  if (status === 402 || status === 412) return own("funds", error);
  if (status === 404) return own(isModel(error) ? "model" : "path", error);
  if (context.priority && isPriority(error)) return own("priority", error);
  if (isMaxTokens(error)) return own("max_tokens", error);
  return of("client", error);
}

/** In-band errors: their own status, else their words. After content they are no refusal, but a broken answer. */
function byEvent(error: UpstreamError, header: HeaderOf, context: FailureContext): Classified {
  if (context.content) return of("fault", error);
  const named = /\b(429|503|529)\b/.exec(`${error.code ?? ""} ${error.message}`)?.[1];
  const status = error.status ?? (named === undefined ? null : Number(named));
  // The words of a full queue say more than a general 500 beside them.
  if ((status === null || status === 500) && isBusy(error))
    return isUnfunded(error) ? own("funds", error) : of("busy", error);
  if (status !== null) return byStatus(status, error, header, context);
  if (context.priority && isPriority(error)) return own("priority", error);
  return of(/^(BadRequestError|invalid_request_error)$/.test(error.type ?? "") ? "client" : "fault", error);
}

function isBusy({ message, type, code }: UpstreamError): boolean {
  return BUSY_WORDS.test(message) || BUSY_TYPES.test(type ?? "") || BUSY_TYPES.test(code ?? "");
}

function isGone({ message, code }: UpstreamError, header: HeaderOf): boolean {
  const reason = header(DROPPED);
  return (reason !== null && GONE_REASONS.test(reason)) || GONE_CODES.test(code ?? "") || GONE_WORDS.test(message);
}

function isUnfunded({ message, type, code }: UpstreamError): boolean {
  return [message, type, code].some((text) => text !== null && NO_FUNDS.test(text));
}

function isPriority({ message, param }: UpstreamError): boolean {
  return param === "priority" || PRIORITY_WORDS.test(message);
}

/** OpenAI's newer models take `max_completion_tokens` alone, and say so. */
function isMaxTokens({ message }: UpstreamError): boolean {
  return /^Unsupported parameter: 'max_tokens' .{0,80}'max_completion_tokens'/.test(message);
}

/** Engines name the model; a wrong path is answered by the web framework. */
function isModel({ message, param, type }: UpstreamError): boolean {
  return param === "model" || (type !== null && /\bmodel\b/i.test(message));
}

function of(name: AnswerClass, error: UpstreamError | null, retryAfterMs: number | null = null): Classified {
  return { class: name, fault: null, retryAfterMs, error };
}

function own(fault: OwnFault, error: UpstreamError): Classified {
  return { class: "ours", fault, retryAfterMs: null, error };
}

function waitOf(header: HeaderOf, nowMs: number): Pick<Classified, "retryAfterMs"> {
  return { retryAfterMs: requestedWaitMs(header, nowMs) };
}
