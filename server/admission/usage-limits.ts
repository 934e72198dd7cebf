import type { ServerResponse } from "node:http";
import { insufficientQuota, warningHeader } from "../../ledger/budget.ts";
import type { Caller, Key } from "../../ledger/key.ts";
import { bounds, type OwnerBudgets } from "../../ledger/owner-budgets.ts";
import type { Prices } from "../../ledger/prices.ts";
import { RateLimited, type RateLimitPass, type RateLimits } from "../../ledger/rate-limits.ts";
import type { Hold, UsageLedger, Use } from "../../ledger/usage-ledger.ts";
import type { Clock } from "../../platform/clock.ts";
import { epochSeconds } from "../../platform/clock.ts";
import type { Log } from "../../platform/log.ts";
import { dayOf } from "../../platform/utc-day.ts";
import type { Store } from "../../store/store.ts";
import type { BudgetStatus } from "../../store/types/budget-row.ts";
import { isOfAnthropic } from "../http/error-format.ts";
import { fromStore } from "../http/store-error-response.ts";
import type { LimitMetrics } from "../metrics/limit-metrics.ts";
import { Overload } from "./overload.ts";
import type { UsageEstimate } from "./usage-estimate.ts";

export interface UsageLimitsDeps {
  rateLimits: RateLimits;
  owners: OwnerBudgets;
  store: Pick<Store, "budgets">;
  ledger: Pick<UsageLedger, "record">;
  prices: Pick<Prices, "costNano">;
  limitMetrics: LimitMetrics;
  clock: Clock;
  log: Log;
}

/**
 * Rate limits of keys, and budgets of keys and owners. Rate limits are checked in memory. Where there is a budget, the most
 * that the request may cost is held back in the store before any of it goes to the engine; a request without a budget
 * needs no statement of the store.
 */
export class UsageLimits {
  readonly #deps: UsageLimitsDeps;
  #lastId = 0;

  constructor(deps: UsageLimitsDeps) {
    this.#deps = deps;
  }

  /**
   * Takes the request out of its key's rate limits and budgets, and sets the headers that describe them. `estimate` is only
   * called where a limit applies. Throws 429 rate_limit_exceeded or insufficient_quota, and 503 when the store fails.
   */
  async reserve(caller: Caller, estimate: () => UsageEstimate, res: ServerResponse): Promise<Charge> {
    const { key, owner } = caller;
    const parts = { ledger: this.#deps.ledger, owner, keyId: key?.id ?? null };
    const limited = key !== null && isLimited(key);
    const budgeted = (key !== null && bounds(key.budget)) || bounds(this.#deps.owners.get(owner));
    if (!limited && !budgeted) return new Charge({ ...parts, pass: null, held: null });
    const estimated = estimate();
    const pass = limited ? this.#pass(key, res, estimated) : null;
    if (!budgeted) return new Charge({ ...parts, pass, held: null });
    try {
      return new Charge({ ...parts, pass, held: await this.#hold(caller, res, estimated) });
    } catch (error) {
      pass?.undo();
      throw error;
    }
  }

  /** The least share, 0 to 1, that is left of a budget of key or owner; null without one. Throws 503 when the store fails. */
  async budgetLeft({ key, owner }: Caller): Promise<number | null> {
    if (!(key !== null && bounds(key.budget)) && !bounds(this.#deps.owners.get(owner))) return null;
    const day = dayOf(epochSeconds(this.#deps.clock) * 1000);
    const statuses = await fromStore(this.#deps.store.budgets.statuses({ owner, keyId: key?.id ?? null, day }));
    return statuses.length === 0 ? null : Math.min(...statuses.map(shareLeft));
  }

  #pass(key: Key, res: ServerResponse, estimate: UsageEstimate): RateLimitPass {
    const { rateLimits, limitMetrics } = this.#deps;
    try {
      return rateLimits.enter(key, estimate.model, estimate);
    } catch (error) {
      if (error instanceof RateLimited) limitMetrics.refused(estimate.model, error.limit);
      throw error;
    } finally {
      for (const [name, value] of Object.entries(this.#headers(key, estimate.model, res))) res.setHeader(name, value);
    }
  }

  #headers(key: Key, model: string, { req }: ServerResponse): Record<string, string> {
    const { rateLimits, clock } = this.#deps;
    const headers = rateLimits.headers(key, model);
    if (!isOfAnthropic(req)) return headers;
    return { ...headers, ...rateLimits.anthropicHeaders(key, model, clock.epochMs()) };
  }

  /** Null for a request that costs nothing. */
  async #hold({ owner, key }: Caller, res: ServerResponse, estimate: UsageEstimate): Promise<HeldMoney | null> {
    const { store, limitMetrics, clock } = this.#deps;
    const nano = this.#cost(estimate, estimate.mostPromptTokens);
    if (nano === 0) return null;
    const id = `request ${++this.#lastId}`;
    const day = dayOf(epochSeconds(clock) * 1000);
    const reservation = await fromStore(store.budgets.reserve({ id, owner, keyId: key?.id ?? null, day, nano }));
    if (reservation.outcome === "used_up") {
      limitMetrics.refused(estimate.model, "budget");
      throw insufficientQuota(reservation.statuses);
    }
    const warning = warningHeader(reservation.statuses);
    if (warning !== null) res.setHeader("x-nightshift-budget-warning", warning);
    return {
      hold: { id, day },
      // The engine's count is usually below the bound: the difference is free for other requests early.
      adjust: (promptTokens) =>
        this.#logFailure(store.budgets.adjust({ id, nano: this.#cost(estimate, promptTokens) })),
      release: () => this.#logFailure(store.budgets.release({ ids: [id] })),
    };
  }

  #cost({ model, tier, mostAnswerTokens }: UsageEstimate, inputTokens: number): number {
    return this.#deps.prices.costNano(model, tier, { inputTokens, cachedTokens: 0, outputTokens: mostAnswerTokens });
  }

  /** No request depends on it. Money that the store did not release stays held until the server starts again. */
  #logFailure(update: Promise<unknown>): void {
    update.catch((error: unknown) =>
      this.#deps.log.warn({ err: error }, "The held money of a budget could not be updated"),
    );
  }
}

function shareLeft({ limitNano, spentNano, heldNano }: BudgetStatus): number {
  return limitNano === 0 ? 0 : Math.max(0, (limitNano - spentNano - heldNano) / limitNano);
}

function isLimited({ limits }: Key): boolean {
  const { requestsPerMinute, tokensPerMinute, concurrent } = limits;
  return requestsPerMinute !== null || tokensPerMinute !== null || concurrent !== null;
}

/** Money of a budget that is held back for a request. */
export interface HeldMoney {
  hold: Hold;
  /** Lowers the held amount once the prompt's tokens are counted. */
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

/** A request's holdings of rate limits and budgets. They end once: settled, failed or released; later calls do nothing. */
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

  /** Returns the amount that is still held. */
  release(): void {
    this.#parts.pass?.leave(0);
    this.#releaseMoney();
  }

  #releaseMoney(): void {
    this.#held?.release();
    this.#held = null;
  }
}
