import { expect, test, vi } from "vitest";
import { DEFAULT_PRICES, DEFAULT_TIER_FACTORS, Prices } from "../../../ledger/prices.ts";
import { UsageLedger, type Use } from "../../../ledger/usage-ledger.ts";
import type { LedgerRow } from "../../../store/ledger.ts";
import { StoreError } from "../../../store/store-error.ts";

const use: Use = {
  owner: "local",
  keyId: null,
  endpoint: "/v1/chat/completions",
  model: "demo",
  version: "fp_1",
  tier: "default",
  inputTokens: 10,
  cachedTokens: 0,
  outputTokens: 1,
  reasoningTokens: 0,
};

function ledgerOn(insert: (rows: LedgerRow[]) => Promise<void>) {
  const errors: string[] = [];
  const charged: LedgerRow[] = [];
  const ledger = new UsageLedger({
    store: { ledger: { insert: ({ rows }) => insert(rows) } },
    prices: new Prices(DEFAULT_PRICES, DEFAULT_TIER_FACTORS),
    sink: { charged: (row) => void charged.push(row) },
    log: { error: (_, message) => void errors.push(message) },
    now: () => 1234,
  });
  return { ledger, errors, charged };
}

test("online requests are written together, within 100 ms, and counted when they are durable", async () => {
  vi.useFakeTimers();
  try {
    const written: LedgerRow[][] = [];
    const { ledger, charged } = ledgerOn(async (rows) => void written.push(rows));
    ledger.record(use);
    ledger.record({ ...use, tier: "priority" });
    expect(charged).toEqual([]);
    await vi.advanceTimersByTimeAsync(100);
    expect(written).toHaveLength(1);
    expect(charged.map(({ costNano, defaultCostNano }) => [costNano, defaultCostNano])).toEqual([
      [1400, 1400],
      [2450, 1400],
    ]);
  } finally {
    vi.useRealTimers();
  }
});

test("rows that the store refuses are kept and written when it takes them again, once", async () => {
  vi.useFakeTimers();
  try {
    let full = true;
    const written: LedgerRow[] = [];
    const { ledger, errors } = ledgerOn(async (rows) => {
      if (full) throw new StoreError("full", "no space");
      written.push(...rows);
    });
    ledger.record(use);
    await vi.advanceTimersByTimeAsync(100);
    expect(errors).toEqual(["Ledger rows could not be written; trying again"]);
    full = false;
    ledger.record(use);
    await vi.advanceTimersByTimeAsync(2000);
    expect(written).toHaveLength(2);
  } finally {
    vi.useRealTimers();
  }
});

test("flush writes what waits, beyond one write's rows; what is refused even then is said to be lost", async () => {
  let full = false;
  const written: LedgerRow[] = [];
  const { ledger, errors } = ledgerOn(async (rows) => {
    if (full) throw new StoreError("full", "no space");
    written.push(...rows);
  });
  for (let i = 0; i < 1200; i++) ledger.record(use);
  await ledger.flush();
  expect(written).toHaveLength(1200);
  full = true;
  ledger.record(use);
  await ledger.flush();
  expect(errors.at(-1)).toBe("Ledger rows are lost: the store takes none");
});

test("a batch line's row is priced at tier batch and names its line", () => {
  const { ledger } = ledgerOn(async () => {});
  expect(ledger.lineRow(use, { batchId: "batch_1", number: 7 })).toMatchObject({
    tier: "batch",
    batchId: "batch_1",
    line: 7,
    time: 1234,
    costNano: 700,
    defaultCostNano: 1400,
  });
});
