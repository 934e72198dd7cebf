import type { Store } from "../store/store.ts";
import type { OwnerRow } from "../store/types/budget-row.ts";
import type { Budget } from "./key.ts";

/**
 * Budgets of all keys of an owner together. All are in memory, so that a request without a budget needs no store call;
 * no other process writes them. Every method may throw StoreError.
 */
export class OwnerBudgets {
  readonly #store: Pick<Store, "budgets">;
  readonly #byOwner: Map<string, Budget>;
  /** Changes are serialized: each builds on the result of the previous one. */
  #changing: Promise<unknown> = Promise.resolve();

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

  /** Forgets a budget whose row was removed from the store. */
  forget(owner: string): void {
    this.#byOwner.delete(owner);
  }

  /** Changes the given fields, in force from the next request on. */
  change(owner: string, changes: Partial<Budget>): Promise<Budget> {
    const changing = this.#changing.then(async () => {
      const budget = { ...this.get(owner), ...changes };
      await this.#store.budgets.setOwner({ owner, ...budget });
      this.#byOwner.set(owner, budget);
      return budget;
    });
    this.#changing = changing.catch(() => {});
    return changing;
  }
}

const NO_BUDGET: Budget = { dailyNano: null, monthlyNano: null, softRatio: null };

export function bounds({ dailyNano, monthlyNano }: Budget): boolean {
  return dailyNano !== null || monthlyNano !== null;
}
