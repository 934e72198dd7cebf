import { setTimeout as wait } from "node:timers/promises";
import type { Log } from "../../platform/log.ts";
import type { Store } from "../../store/store.ts";
import type { ClaimedLine } from "../../store/types/line-row.ts";
import { StoreError } from "../../store/types/store-error.ts";

export interface ReleaseDeps {
  store: Pick<Store, "claims">;
  log: Log;
  /** The server ends: who is still claimed then is pending when the next one starts. */
  stopped: () => boolean;
}

const RETRY_MS = 1000;

/**
 * Makes claimed lines pending again, not to be claimed before `notBeforeMs` (Unix milliseconds, 0: at once). While the
 * store takes nothing it is tried again: a line that stayed claimed would hold its batch up to the end of its window.
 */
export async function release(deps: ReleaseDeps, lines: readonly ClaimedLine[], notBeforeMs: number): Promise<void> {
  const claims = lines.map(({ batchId, number, attempt }) => ({ batchId, number, attempt }));
  for (;;) {
    try {
      await deps.store.claims.release({ claims, notBeforeMs });
      return;
    } catch (error) {
      const retry = error instanceof StoreError && error.retryable && !deps.stopped();
      const about = { batch: claims[0]?.batchId, lines: claims.length, err: error, retry };
      deps.log.error(about, "Lines could not be released");
      if (!retry) return;
      await wait(RETRY_MS);
    }
  }
}
