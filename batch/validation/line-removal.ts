import type { Store } from "../../store/store.ts";

const ROWS = 500;

/** Removes all line rows of a batch. Rejects with the signal's reason when it aborts before the end. */
export async function removeLines(store: Pick<Store, "lines">, batchId: string, signal: AbortSignal): Promise<void> {
  do signal.throwIfAborted();
  while ((await store.lines.remove({ batchId, limit: ROWS })) > 0);
}
