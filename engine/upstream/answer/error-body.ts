/** Bytes of an error body that are read; errors of engines are far shorter, unless they repeat the request. */
export const MAX_ERROR_BODY_BYTES = 65_536;
/** Characters of a message that are kept, for the log and for the patterns of answer-class.ts. */
const MAX_MESSAGE_CHARS = 2000;
/** Entries of a list of faults whose text is kept. */
const MAX_FAULTS = 8;

/** An upstream's error as it was written, in whichever of the forms below. */
export interface UpstreamError {
  /** For the log, never for the client of another owner; empty where there is none. */
  message: string;
  /** A status within 400 to 599 that the error itself names: in-band errors have no other. */
  status: number | null;
  code: string | null;
  type: string | null;
  param: string | null;
}

/**
 * Reads an error body, or the text of an event with an error. Forms:
 *
 * | form | written by |
 * |---|---|
 * | `{"error":{"message","type","param","code"}}` | OpenAI, vLLM, llama-server, Nightshift; the code is a number or a word |
 * | `{"error":{…},"code":503}` | SGLang within a stream |
 * | `{"object":"error","message","type","code"}` | SGLang, older vLLM |
 * | `{"type":"error","error":{"type":"overloaded_error"}}` | Anthropic and what imitates it |
 * | `{"error":"…","error_type":"overloaded"}` | TGI |
 * | `{"detail":"…"}`, `{"detail":[{"loc","msg"}]}` | FastAPI, before an engine sees the request |
 * | anything else | proxies; the text itself is the message |
 */
export function readErrorBody(text: string): UpstreamError {
  try {
    return readError(JSON.parse(text));
  } catch {
    return { ...NO_ERROR, message: text.slice(0, MAX_MESSAGE_CHARS).trim() };
  }
}

/** The same of a body or an event that is parsed already. */
export function readError(value: unknown): UpstreamError {
  if (typeof value === "string") return { ...NO_ERROR, message: bounded(value) };
  if (!isObject(value)) return NO_ERROR;
  const inner = isObject(value.error) ? value.error : value;
  const message = textOf(inner.message) ?? textOf(value.error) ?? textOf(value.message) ?? faultsOf(value.detail) ?? "";
  const codes = [inner.code, inner.status_code, inner.status, value.code, value.status_code, value.status];
  return {
    message: bounded(message),
    status: codes.map(statusOf).find((status) => status !== null) ?? null,
    code: textOf(inner.code),
    type: textOf(inner.type) ?? textOf(value.error_type),
    param: textOf(inner.param) ?? paramOf(value.detail),
  };
}

/** True for an event of a stream that has an error in place of an answer. */
export function isErrorEvent(event: unknown): boolean {
  if (!isObject(event)) return false;
  return (event.error !== undefined && event.error !== null) || event.object === "error" || event.type === "error";
}

export const NO_ERROR: UpstreamError = { message: "", status: null, code: null, type: null, param: null };

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function textOf(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

function bounded(text: string): string {
  return text.slice(0, MAX_MESSAGE_CHARS);
}

/** Numbers come as text too. */
function statusOf(value: unknown): number | null {
  const status = typeof value === "string" && /^\d{3}$/.test(value) ? Number(value) : value;
  return typeof status === "number" && Number.isInteger(status) && status >= 400 && status <= 599 ? status : null;
}

/** The text of FastAPI's `detail`. */
function faultsOf(detail: unknown): string | null {
  if (!Array.isArray(detail)) return textOf(detail);
  const faults = detail.slice(0, MAX_FAULTS).filter(isObject);
  return faults.map((fault) => `${placeOf(fault.loc)}: ${textOf(fault.msg) ?? "invalid"}`).join("; ");
}

/** The field of the first fault; for a single field only: a place within one may hold text of the client. */
function paramOf(detail: unknown): string | null {
  const [first] = Array.isArray(detail) ? detail : [];
  return isObject(first) ? placeOf(first.loc) : null;
}

/** The top field of the body at fault. */
function placeOf(loc: unknown): string {
  const [root, field] = Array.isArray(loc) ? loc : [];
  return String(root === "body" ? (field ?? root) : (root ?? "body")).slice(0, 64);
}
