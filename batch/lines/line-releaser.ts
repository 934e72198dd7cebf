import { setTimeout as wait } from "node:timers/promises";
import type { Clock } from "../../platform/clock.ts";
import type { Log } from "../../platform/log.ts";
import type { Store } from "../../store/store.ts";
import type { ClaimedLine } from "../../store/types/line-row.ts";
import { StoreError } from "../../store/types/store-error.ts";
import type { ActiveBatch } from "./active-batch.ts";
import { lineBackoff } from "./retry-policy.ts";

export interface LineReleaserDeps {
  store: Pick<Store, "claims">;
  /** The batches of the dispatcher, by id. */
  batches: ReadonlyMap<string, ActiveBatch>;
  clock: Pick<Clock, "epochMs">;
  log: Log;
}

/** Milliseconds before a release that the store refused is tried again. */
const RETRY_MS = 1000;

/**
 * Makes claimed lines pending again. While the store is not writable a release is tried again, because a line that stays
 * claimed would delay its batch until the end of its window.
 */
export class LineReleaser {
  readonly #deps: LineReleaserDeps;
  #stopped = false;

  constructor(deps: LineReleaserDeps) {
    this.#deps = deps;
  }

  /** Makes the lines pending; they may be claimed at once. */
  async release(lines: readonly ClaimedLine[]): Promise<void> {
    if (lines.length === 0) return;
    await this.#release(lines, 0);
    for (const batch of this.#deps.batches.values()) batch.restUntil = 0;
  }

  /** Makes a line pending that may be claimed after the backoff of its attempt. */
  async retryLater(line: ClaimedLine): Promise<void> {
    await this.#release([line], Math.round(this.#deps.clock.epochMs() + lineBackoff(line.attempt)));
  }

  /** From now on a failed release is not tried again: the next start of the server makes claimed lines pending. */
  stop(): void {
    this.#stopped = true;
  }

  /** @param notBeforeMs Unix milliseconds before which the lines may not be claimed; 0 for no such time */
  async #release(lines: readonly ClaimedLine[], notBeforeMs: number): Promise<void> {
    const { store, log } = this.#deps;
    const claims = lines.map(({ batchId, number, attempt }) => ({ batchId, number, attempt }));
    for (;;) {
      try {
        await store.claims.release({ claims, notBeforeMs });
        return;
      } catch (error) {
        const retry = error instanceof StoreError && error.retryable && !this.#stopped;
        const about = { batch: claims[0]?.batchId, lines: claims.length, err: error, retry };
        log.error(about, "Lines could not be released");
        if (!retry) return;
        await wait(RETRY_MS);
      }
    }
  }
}
