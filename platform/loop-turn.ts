import { setImmediate as immediate, setTimeout as wait } from "node:timers/promises";

/** Milliseconds that make a slice long: events that arrived meanwhile may need several turns. */
const LONG_MS = 20;
/** Milliseconds of rest after a long slice. */
const REST_MS = 15;

let last: Promise<void> = Promise.resolve();

/**
 * Resolves in a turn of the event loop of its own: the next slice of long work may run. A full turn lies between two
 * slices, and a rest after a long one. A request or a stream thus waits for one slice at most, however much long work
 * is queued: a new connection takes two or three turns until its request is answered.
 */
export function loopTurn(): Promise<void> {
  const turn = last.then(() => immediate());
  last = turn.then(restAfterSlice);
  return turn;
}

/** Starts together with the slice: both follow the same promise, and this callback was registered first. */
async function restAfterSlice(): Promise<void> {
  const began = performance.now();
  await immediate();
  if (performance.now() - began > LONG_MS) await wait(REST_MS);
}
