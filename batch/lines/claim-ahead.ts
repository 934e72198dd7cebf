import { failpoint } from "../../platform/failpoint.ts";
import type { ClaimedLine } from "../../store/types/line-row.ts";
import type { ActiveBatch } from "./active-batch.ts";
import type { CrashBisection } from "./crash-bisection.ts";
import type { InFlightLines } from "./in-flight-lines.ts";
import type { InputFiles } from "./input-files.ts";
import type { LineClaimer } from "./line-claimer.ts";
import type { LineReleaser } from "./line-releaser.ts";

export interface ClaimAheadDeps {
  /** The batches of the dispatcher, by id. */
  batches: ReadonlyMap<string, ActiveBatch>;
  claimer: Pick<LineClaimer, "claim" | "claimSuspects">;
  bisection: Pick<CrashBisection, "next">;
  inFlight: Pick<InFlightLines, "size">;
  inputs: Pick<InputFiles, "body">;
  releaser: Pick<LineReleaser, "release">;
  /** A line is prepared. */
  prepared: () => void;
  /** A line's body could not be read. */
  unreadable: (line: ClaimedLine, batch: ActiveBatch, reason: string) => void;
  /** No event will follow when a line becomes due. */
  recheckLater: () => void;
}

/** A line that is claimed and read, and waits for room in the engine. */
export interface PreparedLine {
  line: ClaimedLine;
  batch: ActiveBatch;
  body: unknown;
}

/** Claims lines and reads their bodies before the engine has room for them: a claim takes an fsync, in which short lines end. */
export class ClaimAhead {
  readonly #deps: ClaimAheadDeps;
  #prepared: PreparedLine[] = [];

  constructor(deps: ClaimAheadDeps) {
    this.#deps = deps;
  }

  /** Takes out the next line of a batch that is not withdrawn. */
  next(): PreparedLine | undefined {
    let next = this.#prepared.shift();
    while (next?.batch.withdrawn) next = this.#prepared.shift();
    return next;
  }

  /**
   * Claims and reads lines ahead of an engine that may have `capacity` of them; as many again may wait here. Resolves with
   * true when there may be more to claim. Rejects with a StoreError.
   */
  async fill(capacity: number): Promise<boolean> {
    const { batches, bisection, claimer, recheckLater } = this.#deps;
    if (capacity === 0 || batches.size === 0) return false;
    const suspect = await bisection.next();
    if (suspect !== null) return this.#fillWithSuspects(suspect, capacity);
    const room = capacity - this.#prepared.length;
    if (room < Math.max(1, capacity >> 1)) return false;
    const lines = await claimer.claim(batches.values(), room);
    if (lines === null) recheckLater();
    else await this.#prepare(lines);
    return lines !== null;
  }

  /** Forgets the lines of a batch; its end ends them. */
  drop(batch: ActiveBatch): void {
    this.#prepared = this.#prepared.filter((prepared) => prepared.batch !== batch);
  }

  /** Makes all prepared lines pending again. */
  async releaseAll(): Promise<void> {
    await this.#deps.releaser.release(this.#prepared.splice(0).map(({ line }) => line));
  }

  /** A suspect group runs alone: no other line is in the engine with it. */
  async #fillWithSuspects(suspect: number, capacity: number): Promise<boolean> {
    const { inFlight, claimer, recheckLater } = this.#deps;
    await this.releaseAll();
    if (inFlight.size > 0) return false;
    await this.#prepare(await claimer.claimSuspects(suspect, capacity));
    // No line was due, or all were of a batch that ends: no event would follow.
    if (inFlight.size === 0) recheckLater();
    return false;
  }

  async #prepare(lines: readonly ClaimedLine[]): Promise<void> {
    const { batches, inputs, releaser, prepared, unreadable } = this.#deps;
    if (lines.length > 0) failpoint("claim.after");
    for (const line of lines) {
      const batch = batches.get(line.batchId);
      if (batch === undefined || batch.withdrawn) {
        await releaser.release([line]);
        continue;
      }
      try {
        const body = await inputs.body(batch.batch.inputPath, line.offset, line.length);
        // Not before the body is read: `drop` replaces the list meanwhile.
        this.#prepared.push({ line, batch, body });
      } catch (error) {
        unreadable(line, batch, `it could not be read: ${error instanceof Error ? error.message : error}`);
      }
      prepared();
    }
  }
}
