import type { Engine } from "../engine/engine.ts";
import type { UsageLedger } from "../ledger/usage-ledger.ts";
import type { ClaimedLine, LineTerms } from "../store/line-row.ts";
import type { Store } from "../store/store.ts";
import type { Clock } from "./clock.ts";
import type { LineUsage } from "./execute.ts";
import { dueMembers, type Member } from "./lane-batch.ts";
import { OwnerTurns } from "./owner-turns.ts";
import { UsualAnswer } from "./usual-answer.ts";

export interface ClaimerDeps {
  engine: Pick<Engine, "model" | "facts">;
  store: Pick<Store, "claims">;
  ledger: Pick<UsageLedger, "lineRates">;
  clock: Clock;
}

/** So long a batch is taken to have no line that is due, once one was looked for in vain. */
const REST_MS = 1000;

/** Claims one model's lines. Each holds back of its budgets what it may cost; its commit or release settles that. */
export class Claimer {
  readonly #deps: ClaimerDeps;
  readonly #usual = new UsualAnswer();
  readonly #turns = new OwnerTurns();

  constructor(deps: ClaimerDeps) {
    this.#deps = deps;
  }

  get usualAnswer(): number {
    return this.#usual.tokens;
  }

  /**
   * Of those that may have a line, owner by turns; notes at each whether a budget held it up. Null when none may have one now.
   * Rejects with a StoreError.
   */
  async claim(members: Iterable<Member>, limit: number): Promise<ClaimedLine[] | null> {
    const nowMs = this.#deps.clock.epochMs();
    const due = this.#turns.order(dueMembers(members, nowMs));
    const terms = this.#terms();
    if (due.length === 0 || terms === null) return null;
    const batchIds = due.map(({ batch }) => batch.id);
    const { lines, paused } = await this.#deps.store.claims.claim({ batchIds, limit, nowMs, terms });
    for (const member of due) {
      member.usedUp = paused.find(({ batchId }) => batchId === member.batch.id)?.usedUp ?? [];
      if (lines.length < limit) member.restUntil = nowMs + REST_MS;
    }
    const ownerOf = new Map(due.map(({ batch }) => [batch.id, batch.owner]));
    for (const { batchId, estimatedTokens } of lines) this.#turns.charge(ownerOf.get(batchId)!, estimatedTokens);
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
