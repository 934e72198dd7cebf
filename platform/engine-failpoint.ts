import { existsSync, readFileSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import { armedFailpoints } from "./failpoint.ts";

/**
 * Failpoints of the engine process, for tests, in NIGHTSHIFT_FAILPOINTS:
 *
 * - `engine.submit:abort-on=TEXT` kills the process when a prompt contains the text, as a crash in llama.cpp would;
 * - `engine.submit:throw-on=TEXT` throws an unexpected error;
 * - `engine.load:hold=PATH` holds the model's loading and its measurement while the file PATH exists;
 * - `engine.step:hold=PATH` holds the step loop while the file PATH exists. Its text is `ORDER STEPS`: each new ORDER
 *   lets STEPS further steps run.
 */
const ABORT_ON = argument("engine.submit:abort-on");
const THROW_ON = argument("engine.submit:throw-on");
const STEP_HOLD = argument("engine.step:hold");
const LOAD_HOLD = argument("engine.load:hold");
const HOLD_POLL_MS = 5;

function argument(name: string): string | undefined {
  return armedFailpoints.find((text) => text.startsWith(`${name}=`))?.slice(name.length + 1);
}

/** Kills the process or throws when armed and the prompt contains the text. */
export function submitFailpoint(prompt: unknown): void {
  if (ABORT_ON !== undefined && JSON.stringify(prompt).includes(ABORT_ON)) process.kill(process.pid, "SIGKILL");
  if (THROW_ON !== undefined && JSON.stringify(prompt).includes(THROW_ON))
    throw new TypeError(`failpoint: ${THROW_ON}`);
}

/** Resolves when the model may be loaded or measured; null where the failpoint is not armed. */
export const heldLoad: (() => Promise<void>) | null =
  LOAD_HOLD === undefined
    ? null
    : async () => {
        while (existsSync(LOAD_HOLD)) await wait(HOLD_POLL_MS);
      };

/** Resolves when the next step may begin, and calls `held` when it must wait; null where the failpoint is not armed. */
export const heldStep: ((held: () => void) => Promise<void>) | null =
  STEP_HOLD === undefined ? null : stepHolder(STEP_HOLD);

function stepHolder(path: string): (held: () => void) => Promise<void> {
  let last = "";
  let left = 0;
  const isHeld = () => {
    let text: string;
    try {
      text = readFileSync(path, "utf8");
    } catch {
      return false;
    }
    const [order = "", steps] = text.split(" ");
    if (order !== last) left = Number(steps);
    last = order;
    return left-- <= 0;
  };
  return async (held) => {
    if (!isHeld()) return;
    held();
    do await wait(HOLD_POLL_MS);
    while (isHeld());
  };
}
