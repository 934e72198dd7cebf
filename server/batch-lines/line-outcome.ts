import type { Executed } from "../../batch/lines/line-execution.ts";
import type { ApiError } from "../../openapi/api-error.ts";
import type { InferencePath } from "../../openapi/inference-path.ts";
import type { ModelLoad } from "../admission/model-load.ts";
import { pathErrors } from "../http/error-format.ts";

/** A batch line in the engine. */
interface LineWork<Outcome> {
  readonly outcome: Promise<Outcome>;
  cancel(): void;
}

export interface Watched<Outcome> {
  outcome: Outcome;
  timedOut: boolean;
  /** True where online requests were in the engine at the same time. */
  withOthers: boolean;
}

/** Codes of errors of an engine process that ended while it had the request. */
const DEATHS = ["engine_died", "engine_failed"];

/**
 * The outcome of a line, which is cancelled when the signal aborts, or `timeoutMs` after the engine has started it: its queue
 * wait does not count, nor does that of one that was preempted.
 *
 * @param start is given the function to call when the engine starts it, and with false when it waits again
 * @param online the load of online requests
 */
export async function watchLine<Outcome>(
  start: (runs: (running: boolean) => void) => LineWork<Outcome>,
  { signal, timeoutMs, online }: { signal: AbortSignal; timeoutMs: number; online: ModelLoad },
): Promise<Watched<Outcome>> {
  const others = { before: online.waiting + online.running, arrived: online.arrived };
  let timedOut = false;
  let timer: NodeJS.Timeout | undefined;
  const timeOut = () => {
    timedOut = true;
    work.cancel();
  };
  const work = start((running) => {
    clearTimeout(timer);
    if (running) timer = setTimeout(timeOut, timeoutMs);
  });
  const abort = () => work.cancel();
  signal.addEventListener("abort", abort, { once: true });
  const outcome = await work.outcome;
  clearTimeout(timer);
  signal.removeEventListener("abort", abort);
  return { outcome, timedOut, withOthers: others.before > 0 || online.arrived > others.arrived };
}

export function timedOutLine(timeoutMs: number): Executed {
  return { how: "timed_out", message: `This request took longer than ${Math.round(timeoutMs / 1000)} seconds.` };
}

/** The outcome of a line whose engine failed. */
export function failedLine(error: ApiError, endpoint: InferencePath, version: string, withOthers: boolean): Executed {
  if (DEATHS.includes(error.code ?? "")) return { how: "engine_died", reason: error.message, withOthers };
  // Another attempt may be lucky; a request that an upstream always fails at is given up in the end.
  if (error.code === "upstream_failed") return { how: "fault", reason: error.message };
  return refusedLine(error, endpoint, version);
}

/** A fault of the request is its answer, in the shape of its endpoint; a line with a temporary error runs again. */
export function refusedLine(error: ApiError, endpoint: InferencePath, version: string): Executed {
  if (error.status === 429 || error.status === 503) return { how: "passing", reason: error.message };
  const { status, body } = pathErrors(endpoint).written(error, "");
  return { how: "answered", statusCode: status, body: JSON.stringify(body), usage: null, version };
}
