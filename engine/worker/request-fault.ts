import type { EngineError, FromEngine } from "../protocol/messages.ts";

const FAULT: EngineError = {
  code: "internal_error",
  param: null,
  message: "The engine met an unexpected error with this request. The server's log says more.",
};

/**
 * Answers one request by a 500 when its handling throws, and reports the error to the server: before a step an error concerns
 * this request alone. `cancel` ends the sequences that it has already.
 */
export async function guarded(
  kind: "request" | "question",
  id: number,
  handle: () => Promise<void>,
  engine: { cancel(id: number): void },
  post: (message: FromEngine) => void,
): Promise<void> {
  try {
    await handle();
  } catch (error) {
    engine.cancel(id);
    post({ type: "fault", stack: stackOf(error) });
    if (kind === "request") post({ type: "refused", id, error: FAULT });
    else post({ type: "tokenized", id, answer: { error: FAULT } });
  }
}

/** Name and stack frames alone: the message of an error may quote what a client wrote. */
function stackOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  const frames = (error.stack ?? "").split("\n").filter((line) => /^\s+at /.test(line));
  return [error.name, ...frames].join("\n");
}
