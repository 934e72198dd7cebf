import type { OwnerRow } from "../store/budget-row.ts";
import type { Store } from "../store/store.ts";
import type { Budget } from "./key.ts";

/**
 * What all keys of an owner may spend together. All of them are in memory, so that whoever has no budget is let in without
 * asking the store; no other process writes them. Every method may throw StoreError.
 */
export class OwnerBudgets {
  readonly #store: Pick<Store, "budgets">;
  readonly #byOwner: Map<string, Budget>;

  private constructor(store: Pick<Store, "budgets">, rows: readonly OwnerRow[]) {
    this.#store = store;
    this.#byOwner = new Map(rows.map(({ owner, ...budget }) => [owner, budget]));
  }

  static async open(store: Pick<Store, "budgets">): Promise<OwnerBudgets> {
    return new OwnerBudgets(store, await store.budgets.owners());
  }

  get(owner: string): Budget {
    return this.#byOwner.get(owner) ?? NO_BUDGET;
  }

  /** In force from the next request on; null fields stay as they are when left out. */
  async change(owner: string, changes: Partial<Budget>): Promise<Budget> {
    const budget = { ...this.get(owner), ...changes };
    await this.#store.budgets.setOwner({ owner, ...budget });
    this.#byOwner.set(owner, budget);
    return budget;
  }
}

export const NO_BUDGET: Budget = { dailyNano: null, monthlyNano: null, softRatio: null };

export function bounds({ dailyNano, monthlyNano }: Budget): boolean {
  return dailyNano !== null || monthlyNano !== null;
}
