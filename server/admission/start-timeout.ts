import type { ApiError } from "../../openapi/api-error.ts";

/** A request in the engine, of any kind. */
export interface InFlight<Outcome> {
  /** Never rejects. */
  readonly outcome: Promise<Outcome>;
  /** Calls it when the request starts, at once where it has; and with false when it starts over and waits again. */
  watch(runs: (running: boolean) => void): void;
  failed(error: ApiError): void;
}

export interface StartTimeout {
  /** Milliseconds from the request's arrival until it must have started; null is without bound. */
  timeoutMs: number | null;
  /** Milliseconds since its arrival. */
  waitedMs: number;
  /** The error of a request that has not started in time. */
  error: (timeoutMs: number) => ApiError;
}

/** The outcome of a request, which fails where it has not started within its timeout, nor again after it was preempted. */
export async function outcomeWithin<Outcome>(
  request: InFlight<Outcome>,
  { timeoutMs, waitedMs, error }: StartTimeout,
): Promise<Outcome> {
  if (timeoutMs === null) return request.outcome;
  const failLater = (ms: number) => setTimeout(() => request.failed(error(timeoutMs)), Math.max(0, ms));
  let timer = failLater(timeoutMs - waitedMs);
  request.watch((running) => {
    clearTimeout(timer);
    if (!running) timer = failLater(timeoutMs);
  });
  const outcome = await request.outcome;
  clearTimeout(timer);
  return outcome;
}
