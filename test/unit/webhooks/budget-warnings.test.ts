import { expect, it } from "vitest";
import type { Store } from "../../../store/store.ts";
import { BudgetWarnings } from "../../../webhooks/budget-warnings.ts";
import { WebhookEndpoints } from "../../../webhooks/endpoint.ts";
import { ledgerRow } from "../store/rows.ts";
import { testStore } from "../store/test-store.ts";

const NOW_MS = Date.UTC(2026, 10, 21, 12);
const DAY = NOW_MS / 86_400_000 - 0.5;
const HOOK = {
  url: "https://hooks.example/nightshift",
  secret: "s",
  events: ["nightshift.budget.warning"] as const,
};

function watchOf(store: Store, epochMs = () => NOW_MS) {
  const counts = { wakes: 0, warned: 0 };
  const observer = { warned: () => void counts.warned++ };
  const endpoints = new WebhookEndpoints([HOOK]);
  const eventsQueued = () => void counts.wakes++;
  const log = { debug() {}, info() {}, warn() {}, error() {} };
  return { counts, watch: new BudgetWarnings({ store, endpoints, eventsQueued, observer, log, epochMs }) };
}

async function events(store: Store): Promise<unknown[]> {
  const rows = await store.outbox.due({ nowMs: Number.MAX_SAFE_INTEGER, limit: 100 });
  return rows.map(({ payload }): unknown => JSON.parse(payload));
}

it("a budget past its threshold causes one webhook per period", async () => {
  const store = await testStore();
  await store.budgets.setOwner({ owner: "local", dailyNano: 1e9, monthlyNano: 10e9, softRatio: 0.8 });
  const { watch, counts } = watchOf(store);
  const charge = async (costNano: number, day = DAY) => {
    const row = ledgerRow({ day, costNano });
    await store.ledger.insert({ rows: [row] });
    watch.charged(row);
    await watch.check();
  };
  await charge(0.79e9);
  expect(await events(store)).toEqual([]);
  await charge(0.01e9);
  await charge(0.1e9);
  expect(await events(store)).toMatchObject([
    {
      object: "event",
      type: "nightshift.budget.warning",
      created_at: NOW_MS / 1000,
      data: {
        id: "local",
        scope: "owner",
        period: "daily",
        period_start: Date.UTC(2026, 10, 21) / 1000,
        limit_usd: 1,
        spent_usd: 0.8,
        soft_ratio: 0.8,
      },
    },
  ]);
  expect(counts.wakes).toBe(1);
});

it("a start sends pending warnings of the previous run, each once", async () => {
  const store = await testStore();
  await store.budgets.setOwner({ owner: "local", dailyNano: null, monthlyNano: 1e9, softRatio: 0.5 });
  await store.ledger.insert({ rows: [ledgerRow({ day: DAY - 3, costNano: 0.6e9 })] });
  for (const expected of [1, 0]) {
    const { watch, counts } = watchOf(store);
    await watch.start();
    await watch.check();
    await watch.stop();
    expect(counts.wakes).toBe(expected);
  }
  expect(await events(store)).toHaveLength(1);
  // A new month has a warning of its own.
  const { watch } = watchOf(store, () => NOW_MS + 30 * 86_400_000);
  await store.ledger.insert({ rows: [ledgerRow({ day: DAY + 30, costNano: 0.6e9 })] });
  await watch.start();
  await watch.check();
  await watch.stop();
  expect(await events(store)).toHaveLength(2);
});
