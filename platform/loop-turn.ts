import { setImmediate as immediate, setTimeout as wait } from "node:timers/promises";

/** A slice of so many milliseconds is long: what has come meanwhile may take some turns to be answered. */
const LONG_MS = 20;
/** After a long slice no other begins for so many milliseconds. */
const REST_MS = 15;

let last: Promise<void> = Promise.resolve();

/**
 * Resolves in a turn of the event loop in which no other caller's promise does: the next slice of long work may run. A full
 * turn lies between two slices, and a rest after a long one. A request or a stream therefore waits for one slice at most,
 * however much long work there is: a new connection takes two or three turns until its request is answered.
 */
export function loopTurn(): Promise<void> {
  const turn = last.then(() => immediate());
  last = turn.then(restAfterSlice);
  return turn;
}

/** Begins with the slice: both follow the same promise, and this was registered first. */
async function restAfterSlice(): Promise<void> {
  const began = performance.now();
  await immediate();
  if (performance.now() - began > LONG_MS) await wait(REST_MS);
}
