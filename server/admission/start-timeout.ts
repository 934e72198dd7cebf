import type { ApiError } from "../../openapi/api-error.ts";

/** A call in flight, of whatever kind. */
interface Waiting<Outcome> {
  /** Never rejects. */
  readonly outcome: Promise<Outcome>;
  /** Resolves when it starts, and never for a call that ends before. */
  readonly running: Promise<void>;
  failed(error: ApiError): void;
}

/**
 * What a call comes to, which has waited for `waitedMs` already; it fails with `tooLong` when it has not started within
 * `patienceMs`. Null is without bound.
 */
export async function outcomeWithin<Outcome>(
  call: Waiting<Outcome>,
  patienceMs: number | null,
  waitedMs: number,
  tooLong: (patienceMs: number) => ApiError,
): Promise<Outcome> {
  if (patienceMs === null) return call.outcome;
  const timer = setTimeout(() => call.failed(tooLong(patienceMs)), Math.max(0, patienceMs - waitedMs));
  void call.running.then(() => clearTimeout(timer));
  const outcome = await call.outcome;
  clearTimeout(timer);
  return outcome;
}
