import { existsSync, readFileSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";

/**
 * Failpoints of the engine process, for tests; NIGHTSHIFT_FAILPOINTS is a comma-separated list of them:
 *
 * - `engine.submit:abort-on=TEXT` kills the process when a prompt contains the text, as a crash in llama.cpp would;
 * - `engine.submit:throw-on=TEXT` throws an error that nothing expects;
 * - `engine.load:hold=PATH` holds the loading of the model, and its measurement, while the file PATH exists;
 * - `engine.step:hold=PATH` holds the step loop while the file PATH exists. Its text is `ORDER STEPS`: each new ORDER
 *   lets so many more steps run.
 */
const POISON = argument("engine.submit:abort-on");
const FAULT = argument("engine.submit:throw-on");
const HOLD = argument("engine.step:hold");
const LOAD = argument("engine.load:hold");
const HOLD_POLL_MS = 5;

function argument(name: string): string | undefined {
  const armed = (process.env.NIGHTSHIFT_FAILPOINTS ?? "").split(",");
  return armed.find((text) => text.startsWith(`${name}=`))?.slice(name.length + 1);
}

/** Dies, or throws, when it is armed and the prompt has the text. */
export function submitFailpoint(prompt: unknown): void {
  if (POISON !== undefined && JSON.stringify(prompt).includes(POISON)) process.kill(process.pid, "SIGKILL");
  if (FAULT !== undefined && JSON.stringify(prompt).includes(FAULT)) throw new TypeError(`failpoint: ${FAULT}`);
}

/** Resolves when the model may be loaded or measured; null where the failpoint is not armed. */
export const heldLoad: (() => Promise<void>) | null =
  LOAD === undefined
    ? null
    : async () => {
        while (existsSync(LOAD)) await wait(HOLD_POLL_MS);
      };

/** Resolves when the next step may begin, calls `held` when it may not yet; null where the failpoint is not armed. */
export const heldStep: ((held: () => void) => Promise<void>) | null = HOLD === undefined ? null : stepHolder(HOLD);

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
