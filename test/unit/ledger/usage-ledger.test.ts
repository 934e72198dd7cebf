import { expect, test, vi } from "vitest";
import { DEFAULT_PRICES, DEFAULT_TIER_FACTORS, Prices } from "../../../ledger/prices.ts";
import { UsageLedger, type Use } from "../../../ledger/usage-ledger.ts";
import type { LedgerRow } from "../../../store/tables/ledger.ts";
import { StoreError } from "../../../store/types/store-error.ts";

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
  estimated: false,
};

function ledgerOn(insert: (rows: LedgerRow[], settled: string[]) => Promise<void>) {
  const errors: string[] = [];
  const charged: LedgerRow[] = [];
  const counts = { failures: 0, lost: 0 };
  const ledger = new UsageLedger({
    store: { ledger: { insert: ({ rows, settled = [] }) => insert(rows, settled) } },
    prices: new Prices(DEFAULT_PRICES, DEFAULT_TIER_FACTORS),
    sinks: [{ charged: (row) => void charged.push(row) }],
    faults: {
      writeFailed: () => void counts.failures++,
      lost: (rows) => {
        counts.lost += rows;
      },
    },
    log: { error: (_, message) => void errors.push(message) },
    now: () => 1234,
  });
  return { ledger, errors, charged, counts };
}

test("rows of online requests are written together within 100 ms and counted once durable", async () => {
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

test("rows that could not be written are written once after the store recovers", async () => {
  vi.useFakeTimers();
  try {
    let full = true;
    const written: LedgerRow[] = [];
    const { ledger, errors, counts } = ledgerOn(async (rows) => {
      if (full) throw new StoreError("full", "no space");
      written.push(...rows);
    });
    ledger.record(use);
    await vi.advanceTimersByTimeAsync(100);
    expect(errors).toEqual(["Ledger rows could not be written; retrying"]);
    full = false;
    ledger.record(use);
    await vi.advanceTimersByTimeAsync(2000);
    expect(written).toHaveLength(2);
    expect(counts).toEqual({ failures: 1, lost: 0 });
  } finally {
    vi.useRealTimers();
  }
});

test("flush writes all queued rows, and logs rows as lost that the store rejects", async () => {
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
  expect(errors.at(-1)).toBe("Ledger rows are lost: the store rejected them");
});

test("a batch line's row is priced at tier batch and has its line's number", () => {
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

test("a row that violates a constraint is lost alone, and its reservation released", async () => {
  vi.useFakeTimers();
  try {
    const written: string[] = [];
    const freed: string[] = [];
    const { ledger, errors, charged, counts } = ledgerOn(async (rows, settled) => {
      if (rows.some(({ model }) => model === "bad")) throw new StoreError("constraint", "REAL in an INTEGER column");
      written.push(...rows.map(({ model }) => model));
      freed.push(...settled);
    });
    const hold = (id: string) => ({ id, day: 0 });
    ledger.record({ ...use, model: "one" }, hold("r1"));
    ledger.record({ ...use, model: "bad" }, hold("r2"));
    ledger.record({ ...use, model: "two" }, hold("r3"));
    await vi.advanceTimersByTimeAsync(100);
    expect(written).toEqual(["one", "two"]);
    expect(freed).toEqual(["r1", "r2", "r3"]);
    expect(charged).toHaveLength(2);
    expect(errors).toEqual(["A ledger row is lost: the store rejected it"]);
    expect(counts).toEqual({ failures: 0, lost: 1 });
    await vi.advanceTimersByTimeAsync(5000);
    expect(written).toHaveLength(2);
  } finally {
    vi.useRealTimers();
  }
});

test("rows written one by one stay queued when the disk fills up", async () => {
  vi.useFakeTimers();
  try {
    let full = true;
    const written: string[] = [];
    const { ledger, counts } = ledgerOn(async (rows) => {
      if (rows.some(({ model }) => model === "bad")) throw new StoreError("constraint", "REAL in an INTEGER column");
      if (full && written.length === 1) throw new StoreError("full", "no space");
      written.push(...rows.map(({ model }) => model));
    });
    for (const model of ["one", "bad", "two"]) ledger.record({ ...use, model });
    await vi.advanceTimersByTimeAsync(100);
    expect(written).toEqual(["one"]);
    full = false;
    await vi.advanceTimersByTimeAsync(1000);
    expect(written).toEqual(["one", "two"]);
    expect(counts).toEqual({ failures: 1, lost: 1 });
  } finally {
    vi.useRealTimers();
  }
});
