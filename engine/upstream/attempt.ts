import type { Readable } from "node:stream";
import { type Dispatcher, request } from "undici";
import type { Failure } from "./answer/answer-class.ts";
import { UnreadableAnswer } from "./answer/answer-reader.ts";
import { isErrorEvent, MAX_ERROR_BODY_BYTES } from "./answer/error-body.ts";
import { readEvents, type UpstreamEvent } from "./answer/event-reader.ts";
import type { HeaderOf } from "./answer/requested-wait.ts";

/** Bytes of an answer that is one JSON body. */
export const MOST_BODY_BYTES = 64 * 1024 * 1024;
/** Milliseconds that a body may last behind the end of its answer; a body that ends leaves its connection to the next request. */
const REST_MS = 1000;
/** Code of a failure by one of our own timeouts. */
const TIMED_OUT = "ETIMEDOUT";

/** True where the connection was refused or broke: a replica that is merely slow would still work on the request. */
export function isLost(failure: Failure): boolean {
  return failure.kind === "network" && failure.code !== TIMED_OUT;
}

/** An attempt at one replica failed. */
export class AttemptFailure extends Error {
  readonly failure: Failure;

  constructor(failure: Failure, cause?: unknown) {
    super("The upstream failed.", { cause });
    this.failure = failure;
  }
}

export interface Attempt {
  dispatcher: Dispatcher;
  url: string;
  headers: Readonly<Record<string, string>>;
  body: string;
  /** The client left, or the request is over for another reason. */
  signal: AbortSignal;
  /** Called with the headers of the response, whatever its status. */
  answered?: (header: HeaderOf) => void;
  /** Milliseconds to the first event, and between two. */
  timeouts: { firstEvent: number; silence: number };
}

/**
 * Sends a request, and yields the events of its answer in lists of those that came at once; a whole JSON body is one event and
 * the end. A time without an event ends it, and so does the signal, whose reason it then throws. Else throws AttemptFailure. The
 * connection is destroyed on every early end: the only abort that all engines know. It returns after the end only once the body
 * has ended too.
 */
export async function* attemptEvents(attempt: Attempt): AsyncGenerator<readonly UpstreamEvent[]> {
  const { signal, timeouts } = attempt;
  const silence = new AbortController();
  let timer = setTimeout(() => silence.abort(), timeouts.firstEvent);
  let header: HeaderOf = () => null;
  let done = false;
  try {
    const response = await request(attempt.url, {
      dispatcher: attempt.dispatcher,
      method: "POST",
      headers: { "content-type": "application/json", accept: "text/event-stream", ...attempt.headers },
      body: attempt.body,
      signal: AbortSignal.any([signal, silence.signal]),
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    header = headerReader(response.headers);
    attempt.answered?.(header);
    const { statusCode: status, body } = response;
    if (status < 200 || status > 299) {
      throw new AttemptFailure({ kind: "response", status, header, body: await beginningOf(body) });
    }
    const streamed = header("content-type")?.startsWith("text/event-stream") ?? false;
    let begun = false;
    for await (const events of streamed ? readEvents(body) : wholeBody(body)) {
      if (done) return;
      done = events.some((event) => event.done);
      if (begun && !done) timer.refresh();
      else {
        begun = true;
        clearTimeout(timer);
        timer = setTimeout(() => silence.abort(), done ? REST_MS : timeouts.silence);
      }
      const failed = events.find((event) => !event.done && isErrorEvent(event.data));
      // Events before the error in the same list are dropped with it.
      if (failed?.done === false) throw new AttemptFailure({ kind: "event", event: failed.data, header });
      yield events;
    }
  } catch (error) {
    if (error instanceof AttemptFailure) throw error;
    if (done) return;
    if (signal.aborted) throw signal.reason;
    if (silence.signal.aborted) throw new AttemptFailure({ kind: "network", code: TIMED_OUT }, error);
    if (error instanceof UnreadableAnswer) throw new AttemptFailure({ kind: "broken" }, error);
    throw new AttemptFailure({ kind: "network", code: String(Object(error).code ?? "") }, error);
  } finally {
    clearTimeout(timer);
    silence.abort();
  }
}

export function headerReader(headers: Readonly<Record<string, string | string[] | undefined>>): HeaderOf {
  return (name) => {
    const value = headers[name];
    return (Array.isArray(value) ? value[0] : value) ?? null;
  };
}

/** The beginning of an error's body; empty where it breaks off. */
export async function beginningOf(body: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of body) {
      chunks.push(chunk);
      bytes += chunk.byteLength;
      if (bytes >= MAX_ERROR_BODY_BYTES) break;
    }
  } catch {
    // The status says enough.
  }
  body.destroy();
  return Buffer.concat(chunks).subarray(0, MAX_ERROR_BODY_BYTES).toString();
}

async function* wholeBody(body: Readable): AsyncGenerator<readonly UpstreamEvent[]> {
  yield [{ done: false, data: await readJson(body, MOST_BODY_BYTES) }, { done: true }];
}

/** The value of a JSON body; throws UnreadableAnswer above the bound, and for another body. */
export async function readJson(body: Readable, mostBytes: number): Promise<unknown> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    if (bytes > mostBytes) {
      body.destroy();
      throw new UnreadableAnswer(`The answer is longer than ${mostBytes} bytes.`);
    }
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString());
  } catch {
    throw new UnreadableAnswer("The answer is not JSON.");
  }
}
