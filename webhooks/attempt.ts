import type { OutboxRow } from "../store/tables/outbox.ts";
import { destination, type Resolve } from "./destination.ts";
import type { WebhookEndpoint } from "./endpoint.ts";
import { post } from "./post.ts";
import { signer } from "./signature.ts";

export type DeliveryOutcome =
  | { name: "delivered" }
  /** 410: the endpoint accepts no further events. */
  | { name: "gone" }
  | { name: "failed"; error: string }
  /** The server shuts down; the attempt does not count. */
  | { name: "interrupted" };

export interface AttemptContext {
  allowPrivate: boolean;
  resolve: Resolve;
  nowMs: number;
  timeoutMs: number;
  /** Aborts the attempt at shutdown. */
  ending: AbortSignal;
}

/** Makes one attempt to deliver an event. Never rejects. */
export async function attempt(
  endpoint: WebhookEndpoint,
  event: OutboxRow,
  context: AttemptContext,
): Promise<DeliveryOutcome> {
  const { allowPrivate, resolve, nowMs, timeoutMs, ending } = context;
  const timeout = AbortSignal.timeout(timeoutMs);
  const signal = AbortSignal.any([timeout, ending]);
  try {
    const url = new URL(endpoint.url);
    const addresses = await orAborted(destination(url, allowPrivate, resolve), signal);
    const headers = signer(endpoint.secret).headers(event.id, nowMs, event.payload);
    return judge(await post({ url, addresses, headers, body: event.payload, signal }));
  } catch (error) {
    if (ending.aborted) return { name: "interrupted" };
    if (timeout.aborted) return { name: "failed", error: `no answer within ${timeoutMs / 1000} s` };
    return { name: "failed", error: textOf(error) };
  }
}

/** Text of an error. After refusals by all of several addresses the message is empty, and only the code has the reason. */
function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.message || ("code" in error ? String(error.code) : error.name);
}

function judge(status: number): DeliveryOutcome {
  if (status >= 200 && status < 300) return { name: "delivered" };
  if (status === 410) return { name: "gone" };
  const redirect = status >= 300 && status < 400;
  return { name: "failed", error: `HTTP ${status}${redirect ? ": redirects are not followed" : ""}` };
}

/** Rejects at the abort: a DNS lookup cannot be cancelled. */
function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}
