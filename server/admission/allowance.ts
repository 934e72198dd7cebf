import type { ServerResponse } from "node:http";
import { insufficientQuota, warningHeader } from "../../ledger/budget.ts";
import type { Caller, Key } from "../../ledger/key.ts";
import { bounds, type OwnerBudgets } from "../../ledger/owner-budgets.ts";
import type { Prices } from "../../ledger/prices.ts";
import { RateLimited, type RateLimitPass, type RateLimits } from "../../ledger/rate-limits.ts";
import type { Hold } from "../../ledger/usage-ledger.ts";
import type { Clock } from "../../platform/clock.ts";
import { epochSeconds } from "../../platform/clock.ts";
import type { Log } from "../../platform/log.ts";
import { dayOf } from "../../platform/utc-day.ts";
import type { Store } from "../../store/store.ts";
import { fromStore } from "../http/store-error-response.ts";
import type { LimitMetrics } from "../metrics/limit-metrics.ts";
import { Overload } from "./admission.ts";
import type { AllowanceAsk } from "./allowance-estimate.ts";

export interface AllowanceDeps {
  rateLimits: RateLimits;
  owners: OwnerBudgets;
  store: Pick<Store, "budgets">;
  prices: Pick<Prices, "costNano">;
  metrics: LimitMetrics;
  clock: Clock;
  log: Log;
}

/**
 * Lets requests in within the limits of their key and the budgets of key and owner. Limits are looked at in memory. Where
 * there is a budget, what the request may cost is held back in the store, before anything of it goes to the engine; whoever
 * has none is let in without that.
 */
export class Allowances {
  readonly #deps: AllowanceDeps;
  #lastId = 0;

  constructor(deps: AllowanceDeps) {
    this.#deps = deps;
  }

  /**
   * Writes the headers that tell of limits and budgets, and runs the request. Throws 429 rate_limit_exceeded or
   * insufficient_quota, 503 when the store can't tell, and what `run` throws.
   */
  async during(
    caller: Caller,
    res: ServerResponse,
    ask: () => AllowanceAsk,
    run: (allowance: Allowance) => Promise<void>,
  ): Promise<void> {
    const allowance = await this.#enter(caller, res, ask);
    try {
      await run(allowance);
    } catch (error) {
      if (error instanceof Overload) allowance.undo();
      throw error;
    } finally {
      allowance.end();
    }
  }

  async #enter(caller: Caller, res: ServerResponse, ask: () => AllowanceAsk): Promise<Allowance> {
    const { key, owner } = caller;
    const limited = key !== null && isLimited(key);
    const budgeted = (key !== null && bounds(key.budget)) || bounds(this.#deps.owners.get(owner));
    if (!limited && !budgeted) return new Allowance(null, null);
    const asked = ask();
    const pass = limited ? this.#pass(key, res, asked) : null;
    if (!budgeted) return new Allowance(pass, null);
    try {
      return new Allowance(pass, await this.#hold(caller, res, asked));
    } catch (error) {
      pass?.undo();
      throw error;
    }
  }

  #pass(key: Key, res: ServerResponse, ask: AllowanceAsk): RateLimitPass {
    const { rateLimits, metrics } = this.#deps;
    try {
      return rateLimits.enter(key, ask.model, ask);
    } catch (error) {
      if (error instanceof RateLimited) metrics.refused(ask.model, error.limit);
      throw error;
    } finally {
      for (const [name, value] of Object.entries(rateLimits.headers(key, ask.model))) res.setHeader(name, value);
    }
  }

  /** Null for what costs nothing. */
  async #hold({ owner, key }: Caller, res: ServerResponse, ask: AllowanceAsk): Promise<HeldMoney | null> {
    const { store, metrics, clock } = this.#deps;
    const nano = this.#cost(ask, ask.mostPromptTokens);
    if (nano === 0) return null;
    const id = `request ${++this.#lastId}`;
    const day = dayOf(epochSeconds(clock) * 1000);
    const reservation = await fromStore(store.budgets.reserve({ id, owner, keyId: key?.id ?? null, day, nano }));
    if (reservation.outcome === "used_up") {
      metrics.refused(ask.model, "budget");
      throw insufficientQuota(reservation.statuses);
    }
    const warning = warningHeader(reservation.statuses);
    if (warning !== null) res.setHeader("x-nightshift-budget-warning", warning);
    return {
      hold: { id, day },
      // The engine's count is less than the bound as a rule: what others may spend is not held back for long.
      counted: (promptTokens) => this.#tell(store.budgets.adjust({ id, nano: this.#cost(ask, promptTokens) })),
      release: () => this.#tell(store.budgets.release({ ids: [id] })),
    };
  }

  #cost({ model, tier, mostAnswerTokens }: AllowanceAsk, inputTokens: number): number {
    return this.#deps.prices.costNano(model, tier, { inputTokens, cachedTokens: 0, outputTokens: mostAnswerTokens });
  }

  /** Nobody waits for it. What the store does not take stays held back until the server starts again. */
  #tell(told: Promise<unknown>): void {
    told.catch((error: unknown) => this.#deps.log.warn({ err: error }, "What is held back of a budget is out of date"));
  }
}

interface HeldMoney {
  hold: Hold;
  counted(promptTokens: number): void;
  release(): void;
}

/** What one request was let in with. Ends once: charged, ended or undone; what comes after that does nothing. */
export class Allowance {
  readonly #pass: RateLimitPass | null;
  #held: HeldMoney | null;

  constructor(pass: RateLimitPass | null, held: HeldMoney | null) {
    this.#pass = pass;
    this.#held = held;
  }

  /** The engine has counted the prompt, and nothing of it ran. */
  counted(promptTokens: number): void {
    this.#held?.counted(promptTokens);
  }

  /** It used so many tokens, prompt and answers. What it holds goes with its ledger row. */
  charged(tokens: number): Hold | null {
    this.#pass?.leave(tokens);
    const held = this.#held;
    this.#held = null;
    return held?.hold ?? null;
  }

  /** It is not charged; so many tokens count against its key's minute all the same. */
  end(tokens = 0): void {
    this.#pass?.leave(tokens);
    this.#release();
  }

  /** It was not served for the server's own reasons, and does not count. */
  undo(): void {
    this.#pass?.undo();
    this.#release();
  }

  #release(): void {
    this.#held?.release();
    this.#held = null;
  }
}

function isLimited({ limits }: Key): boolean {
  const { requestsPerMinute, tokensPerMinute, concurrent } = limits;
  return requestsPerMinute !== null || tokensPerMinute !== null || concurrent !== null;
}
