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

/** Milliseconds for which a batch is not looked at again after a claim that found fewer lines than it could take. */
const REST_MS = 1000;

/**
 * Claims one model's lines. Each claim reserves of its budgets what the line may cost; its commit or release settles that.
 *
 * The order is a fair queue over owners by estimated tokens; of one owner the batch with the nearest deadline comes first.
 * By deadlines alone, one owner's backlog of a day would delay another's ten lines until they expire.
 */
export class LineClaimer {
  readonly #deps: LineClaimerDeps;
  readonly #answers = new AnswerLength();
  readonly #owners = new FairQueue();

  constructor(deps: LineClaimerDeps) {
    this.#deps = deps;
  }

  /** The expected tokens of a line's answer. */
  get usualAnswer(): number {
    return this.#answers.tokens;
  }

  /**
   * Claims up to `limit` lines and notes at each batch which budgets blocked it. Null when no batch may have a line that is
   * due. Rejects with a StoreError.
   */
  async claim(batches: Iterable<ActiveBatch>, limit: number): Promise<ClaimedLine[] | null> {
    const { clock, store } = this.#deps;
    const due = dueBatches(batches, clock.now());
    const owners = this.#owners;
    owners.set(new Set(due.map(({ batch }) => batch.owner)));
    const terms = this.#terms();
    if (due.length === 0 || terms === null) return null;
    due.sort((a, b) => owners.served(a.batch.owner) - owners.served(b.batch.owner));
    const batchIds = due.map(({ batch }) => batch.id);
    const nowMs = clock.epochMs();
    const { lines, paused } = await store.claims.claim({ batchIds, limit, nowMs, terms });
    for (const active of due) {
      active.usedUp = paused.find(({ batchId }) => batchId === active.batch.id)?.usedUp ?? [];
      if (lines.length < limit) active.restUntil = clock.now() + REST_MS;
    }
    const ownerOf = new Map(due.map(({ batch }) => [batch.id, batch.owner]));
    for (const { batchId, estimatedTokens } of lines) owners.charge(ownerOf.get(batchId)!, estimatedTokens);
    return lines;
  }

  /** Claims up to `limit` lines of a suspect group. */
  async claimSuspects(suspect: number, limit: number): Promise<ClaimedLine[]> {
    const nowMs = this.#deps.clock.epochMs();
    const terms = this.#terms();
    return terms === null ? [] : this.#deps.store.claims.claimSuspects({ suspect, limit, nowMs, terms });
  }

  /** A line was answered. */
  observeAnswer({ outputTokens }: LineUsage): void {
    if (outputTokens > 0) this.#answers.add(outputTokens);
  }

  /** Null while the model is not in memory. */
  #terms(): LineTerms | null {
    const { engine, ledger } = this.#deps;
    return engine.facts === null ? null : { ...ledger.lineRates(engine.model), context: engine.facts.context };
  }
}
