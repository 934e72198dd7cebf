import type { RateLimitPass } from "../../ledger/rate-limits.ts";
import type { Hold, UsageLedger, Use } from "../../ledger/usage-ledger.ts";
import { Overload } from "./overload.ts";

/** Money of a budget that is held back for a request. */
export interface HeldMoney {
  hold: Hold;
  /** Lowers what is held back once the prompt's tokens are counted. */
  adjust(promptTokens: number): void;
  release(): void;
}

/** The tokens that a request used. */
export interface ChargeableUse {
  /** Null for a request that generates and embeds nothing. */
  use: Omit<Use, "owner" | "keyId"> | null;
  /** False where the tokens count against the rate limit alone. */
  charged: boolean;
}

export interface ChargeParts {
  ledger: Pick<UsageLedger, "record">;
  owner: string;
  keyId: string | null;
  /** Null for a key without rate limits. */
  pass: RateLimitPass | null;
  /** Null where no budget applies, or the request costs nothing. */
  held: HeldMoney | null;
}

/** What a request holds of rate limits and budgets. It ends once: settled, failed or released; later calls do nothing. */
export class Charge {
  readonly #parts: ChargeParts;
  #held: HeldMoney | null;

  constructor(parts: ChargeParts) {
    this.#parts = parts;
    this.#held = parts.held;
  }

  /** The engine has counted the prompt; nothing of it has run. */
  counted(promptTokens: number): void {
    this.#held?.adjust(promptTokens);
  }

  /** Charges a use. The held money is released with its ledger row. */
  settle({ use, charged }: ChargeableUse): void {
    if (use === null) return;
    const { ledger, owner, keyId, pass } = this.#parts;
    pass?.leave(use.inputTokens + use.outputTokens);
    if (charged) {
      ledger.record({ ...use, owner, keyId }, this.#held?.hold ?? null);
      this.#held = null;
    } else this.#releaseMoney();
  }

  /** The request failed. One that the server refused for overload does not count against the rate limit either. */
  fail(error: unknown): void {
    if (!(error instanceof Overload)) return;
    this.#parts.pass?.undo();
    this.#releaseMoney();
  }

  /** Returns what is still held. */
  release(): void {
    this.#parts.pass?.leave(0);
    this.#releaseMoney();
  }

  #releaseMoney(): void {
    this.#held?.release();
    this.#held = null;
  }
}
