import type { Engine } from "../../engine/engine.ts";
import type { UsageLedger } from "../../ledger/usage-ledger.ts";
import type { Clock } from "../../platform/clock.ts";
import { FairQueue } from "../../platform/fair-queue.ts";
import type { Store } from "../../store/store.ts";
import type { ClaimedLine, LineTerms } from "../../store/types/line-row.ts";
import { type ActiveBatch, dueBatches } from "./active-batch.ts";
import { AnswerLength } from "./answer-length.ts";
import type { LineUsage } from "./line-execution.ts";

export interface LineClaimerDeps {
  engine: Pick<Engine, "model" | "facts">;
  store: Pick<Store, "claims">;
  ledger: Pick<UsageLedger, "lineRates">;
  clock: Clock;
}

/** Milliseconds for which a batch is taken to have no line that is due, once one was looked for in vain. */
const REST_MS = 1000;

/**
 * Claims one model's lines. Each holds back of its budgets what it may cost; its commit or release settles that.
 *
 * Owners take turns by the estimated tokens that were claimed for them; of one owner the batch with the nearest deadline
 * comes first. Deadlines alone would let one owner's backlog of a day hold up another's ten lines, which then expire.
 */
export class LineClaimer {
  readonly #deps: LineClaimerDeps;
  readonly #usual = new AnswerLength();
  readonly #owners = new FairQueue();

  constructor(deps: LineClaimerDeps) {
    this.#deps = deps;
  }

  get usualAnswer(): number {
    return this.#usual.tokens;
  }

  /**
   * Up to `limit` lines of the batches that may have one; notes at each batch whether a budget held it up. Null when none
   * may have a line now. Rejects with a StoreError.
   */
  async claim(members: Iterable<ActiveBatch>, limit: number): Promise<ClaimedLine[] | null> {
    const { clock, store } = this.#deps;
    const due = dueBatches(members, clock.now());
    const owners = this.#owners;
    owners.set(new Set(due.map(({ batch }) => batch.owner)));
    const terms = this.#terms();
    if (due.length === 0 || terms === null) return null;
    due.sort((a, b) => owners.served(a.batch.owner) - owners.served(b.batch.owner));
    const batchIds = due.map(({ batch }) => batch.id);
    const nowMs = clock.epochMs();
    const { lines, paused } = await store.claims.claim({ batchIds, limit, nowMs, terms });
    for (const member of due) {
      member.usedUp = paused.find(({ batchId }) => batchId === member.batch.id)?.usedUp ?? [];
      if (lines.length < limit) member.restUntil = clock.now() + REST_MS;
    }
    const ownerOf = new Map(due.map(({ batch }) => [batch.id, batch.owner]));
    for (const { batchId, estimatedTokens } of lines) owners.charge(ownerOf.get(batchId)!, estimatedTokens);
    return lines;
  }

  async claimSuspects(suspect: number, limit: number): Promise<ClaimedLine[]> {
    const nowMs = this.#deps.clock.epochMs();
    const terms = this.#terms();
    return terms === null ? [] : this.#deps.store.claims.claimSuspects({ suspect, limit, nowMs, terms });
  }

  /** A line was answered. */
  learn({ outputTokens }: LineUsage): void {
    if (outputTokens > 0) this.#usual.add(outputTokens);
  }

  /** Null while the model is not in memory. */
  #terms(): LineTerms | null {
    const { engine, ledger } = this.#deps;
    return engine.facts === null ? null : { ...ledger.lineRates(engine.model), context: engine.facts.context };
  }
}
