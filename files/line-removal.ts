import type { Store } from "../store/store.ts";

const ROWS = 500;

/** Removes all line rows of a batch; rejects with the signal's reason when that aborts before the end. */
export async function removeLines(store: Pick<Store, "lines">, batchId: string, signal: AbortSignal): Promise<void> {
  do signal.throwIfAborted();
  while ((await store.lines.remove({ batchId, limit: ROWS })) > 0);
}
