import { expect, it } from "vitest";
import { OwnerBudgets } from "../../../ledger/owner-budgets.ts";
import { StoreError } from "../../../store/types/store-error.ts";
import { freshStore } from "../store/test-store.ts";

it("keeps both of two concurrent changes", async () => {
  const { store, end } = await freshStore();
  const owners = await OwnerBudgets.open(store);
  await Promise.all([owners.change("a", { dailyNano: 1 }), owners.change("a", { monthlyNano: 2 })]);
  const both = { dailyNano: 1, monthlyNano: 2, softRatio: null };
  expect(owners.get("a")).toEqual(both);
  expect(await store.budgets.owners()).toEqual([{ owner: "a", ...both }]);
  await end();
});

it("is unchanged by a failed write and accepts the next change", async () => {
  const { store, end } = await freshStore();
  const owners = await OwnerBudgets.open(store);
  await expect(owners.change("a", { dailyNano: -1 })).rejects.toThrow(StoreError);
  expect(owners.get("a").dailyNano).toBeNull();
  await owners.change("a", { dailyNano: 1 });
  expect(owners.get("a").dailyNano).toBe(1);
  await end();
});
