import type { Log } from "../platform/log.ts";
import { objectId } from "../platform/object-id.ts";
import { dayOf, monthOf, startOfDay } from "../platform/utc-day.ts";
import type { Store } from "../store/store.ts";
import type { LedgerRow } from "../store/tables/ledger.ts";
import type { BudgetStatus } from "../store/types/budget-row.ts";
import { StoreError } from "../store/types/store-error.ts";
import type { WebhookEndpoints } from "./endpoint.ts";
import { webhookEvents } from "./outbox.ts";

export interface BudgetWarningsDeps {
  store: Pick<Store, "budgets">;
  endpoints: WebhookEndpoints;
  /** Called after events were inserted into the outbox. */
  eventsQueued: () => void;
  observer: { warned(): void };
  log: Log;
  /** Unix milliseconds. */
  epochMs(): number;
}

interface Payer {
  owner: string;
  keyId: string | null;
}

const CHECK_INTERVAL_MS = 1000;

/**
 * Sends one webhook per budget and period when spending reaches the budget's warning threshold. Each check covers the
 * accounts charged since the previous one; the first check after a start covers all.
 */
export class BudgetWarnings {
  readonly #deps: BudgetWarningsDeps;
  readonly #charged = new Map<string, Payer>();
  #timer: NodeJS.Timeout | undefined;
  #checking: Promise<void> = Promise.resolve();

  constructor(deps: BudgetWarningsDeps) {
    this.#deps = deps;
  }

  charged({ owner, keyId }: LedgerRow): void {
    this.#note({ owner, keyId });
  }

  async start(): Promise<void> {
    const day = dayOf(this.#deps.epochMs());
    const before = monthOf(monthOf(day).first - 1).first;
    await this.#deps.store.budgets.forgetWarnings({ before }).catch((error: unknown) => {
      // Old warnings are harmless; the next start removes them.
      if (!(error instanceof StoreError)) throw error;
    });
    for (const payer of await this.#deps.store.budgets.payers()) this.#note(payer);
    this.#timer = setInterval(() => {
      this.#checking = this.#checking.then(() => this.check());
    }, CHECK_INTERVAL_MS);
    this.#timer.unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#checking;
  }

  async check(): Promise<void> {
    if (this.#charged.size === 0) return;
    const payers = [...this.#charged.values()];
    this.#charged.clear();
    const { store, epochMs, log } = this.#deps;
    try {
      const statuses = await store.budgets.toWarn({ payers, day: dayOf(epochMs()) });
      for (const status of statuses) await this.#warn(status);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      if (error.code !== "closed") log.warn({ code: error.code }, "Budgets could not be checked");
      for (const payer of payers) this.#note(payer);
    }
  }

  #note(payer: Payer): void {
    this.#charged.set(`${payer.owner} ${payer.keyId ?? ""}`, payer);
  }

  async #warn(status: BudgetStatus): Promise<void> {
    const { store, endpoints, eventsQueued, log, epochMs } = this.#deps;
    const { scope, subject, period, firstDay, limitNano, spentNano, softRatio } = status;
    const data = {
      id: subject,
      scope,
      period,
      period_start: startOfDay(firstDay),
      limit_usd: limitNano / 1e9,
      spent_usd: spentNano / 1e9,
      soft_ratio: softRatio,
    };
    const nowMs = Math.floor(epochMs());
    const events = webhookEvents(endpoints, {
      id: objectId("evt_"),
      type: "nightshift.budget.warning",
      data,
      nowMs,
    });
    const warned = await store.budgets.warn({ warning: { scope, subject, period, firstDay }, events });
    if (!warned) return;
    this.#deps.observer.warned();
    eventsQueued();
    log.warn(
      { scope, subject, period, spentUsd: data.spent_usd, limitUsd: data.limit_usd },
      "A budget has reached its warning threshold",
    );
  }
}
