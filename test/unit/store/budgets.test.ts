import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { LineTerms } from "../../../store/types/line-row.ts";
import { type MemoryTables, memoryTables, runningBatch } from "./memory-tables.ts";
import { ledgerRow } from "./rows.ts";

const DAY = 20_000;
const NOW_MS = DAY * 86_400_000 + 1000;
/** A line of the test's batches has 99 bytes and may generate 6 tokens. */
const TERMS: LineTerms = { inputNano: 1, outputNano: 2, context: 200 };
const LINE_NANO = 99 + 12;

function withBudget(dailyNano: number | null, monthlyNano: number | null = null, softRatio: number | null = null) {
  const tables = memoryTables();
  tables.budgets.writes.setOwner({ owner: "local", dailyNano, monthlyNano, softRatio });
  return tables;
}

function reserve({ budgets }: MemoryTables, id: string, nano: number, day = DAY): string {
  return budgets.rebuilds.reserve({ id, owner: "local", keyId: null, day, nano }).outcome;
}

describe("a budget", () => {
  it("admits requests while something is left, even one that exceeds the rest", () => {
    const tables = withBudget(100);
    expect(reserve(tables, "a", 99)).toBe("reserved");
    expect(reserve(tables, "b", 500)).toBe("reserved");
    expect(reserve(tables, "c", 1)).toBe("used_up");
    tables.budgets.rebuilds.adjust({ id: "b", nano: 0 });
    expect(reserve(tables, "c", 1)).toBe("reserved");
    tables.budgets.rebuilds.release({ ids: ["a"] });
    expect(reserve(tables, "d", 1)).toBe("reserved");
  });

  it("counts ledger rows as spent on their day", () => {
    const tables = withBudget(100, 150);
    reserve(tables, "a", 100);
    tables.ledger.writes.insert({ rows: [ledgerRow({ day: DAY, costNano: 70 })], settled: ["a"] });
    expect(tables.budgets.reads.statuses({ owner: "local", keyId: null, day: DAY })).toMatchObject([
      { period: "daily", spentNano: 70, heldNano: 0 },
      { period: "monthly", spentNano: 70, heldNano: 0 },
    ]);
    // A new day starts; the month continues.
    expect(reserve(tables, "b", 80, DAY + 1)).toBe("reserved");
    expect(reserve(tables, "c", 1, DAY + 1)).toBe("used_up");
    tables.budgets.rebuilds.release({ ids: ["b"] });
    expect(reserve(tables, "c", 1, DAY + 1)).toBe("reserved");
  });

  it("of a key applies to that key alone, the owner's to all its keys", () => {
    const { db, ...tables } = memoryTables();
    const limits = { tiers: null, models: null, metadata: null, expiresAt: null };
    const none = { requestsPerMinute: null, tokensPerMinute: null, concurrent: null, enqueuedTokens: null };
    const budget = { dailyNano: 10, monthlyNano: null, softRatio: null, storageBytes: null };
    for (const id of ["key_a", "key_b"]) {
      const made = { id, prefix: id, hash: "0".repeat(64), owner: "local", createdAt: 1 };
      tables.keys.writes.insert({ ...made, name: id, scopes: "[]", ...limits, ...none, ...budget });
    }
    const ask = (id: string, keyId: string | null) =>
      tables.budgets.rebuilds.reserve({ id, owner: "local", keyId, day: DAY, nano: 10 }).outcome;
    expect([ask("1", "key_a"), ask("2", "key_a"), ask("3", "key_b"), ask("4", null)]).toEqual([
      "reserved",
      "used_up",
      "reserved",
      "reserved",
    ]);
    tables.budgets.writes.setOwner({ owner: "local", dailyNano: 20, monthlyNano: null, softRatio: null });
    expect(ask("5", null)).toBe("used_up");
    db.close();
  });

  it("gives one warning per period, by spending without reservations", () => {
    const tables = withBudget(100, 1000, 0.5);
    const payers = [{ owner: "local", keyId: null }];
    expect(tables.budgets.reads.payers()).toEqual(payers);
    reserve(tables, "a", 99);
    expect(tables.budgets.reads.toWarn({ payers, day: DAY })).toEqual([]);
    tables.ledger.writes.insert({ rows: [ledgerRow({ day: DAY, costNano: 50 })], settled: ["a"] });
    const [warning] = tables.budgets.reads.toWarn({ payers, day: DAY });
    expect(warning).toMatchObject({ scope: "owner", subject: "local", period: "daily", spentNano: 50 });
    const { scope, subject, period, firstDay } = warning!;
    const warn = () => tables.budgets.writes.warn({ warning: { scope, subject, period, firstDay }, events: [] });
    expect([warn(), warn()]).toEqual([true, false]);
    expect(tables.budgets.reads.toWarn({ payers, day: DAY })).toEqual([]);
    tables.ledger.writes.insert({ rows: [ledgerRow({ day: DAY + 1, costNano: 50 })] });
    expect(tables.budgets.reads.toWarn({ payers, day: DAY + 1 })).toHaveLength(1);
  });
});

describe("lines of a batch", () => {
  const claim = (tables: MemoryTables, limit: number, nowMs = NOW_MS) =>
    tables.claims.writes.claim({ batchIds: ["b"], limit, nowMs, terms: TERMS });

  it("pause at half of the budget's rest, until it is raised or a new day begins", () => {
    const tables = withBudget(4 * LINE_NANO);
    runningBatch(tables, "b", 9);
    const { lines, paused } = claim(tables, 9);
    expect(lines.map(({ number }) => number)).toEqual([1, 2]);
    expect(paused).toMatchObject([{ batchId: "b", usedUp: [{ period: "daily", heldNano: 2 * LINE_NANO }] }]);
    tables.budgets.writes.setOwner({
      owner: "local",
      dailyNano: 6 * LINE_NANO,
      monthlyNano: null,
      softRatio: null,
    });
    expect(claim(tables, 9).lines.map(({ number }) => number)).toEqual([3]);
    expect(claim(tables, 1, NOW_MS + 86_400_000)).toMatchObject({ lines: [{ number: 4 }], paused: [] });
  });

  it("are charged to the day of their claim and release the rest of their reservation", () => {
    const tables = withBudget(1000);
    runningBatch(tables, "b", 2);
    const [done, back] = claim(tables, 2).lines;
    const outcome = { state: "done", kind: "output", requestId: "r", statusCode: 200, body: "{}" } as const;
    const row = ledgerRow({ day: DAY + 1, batchId: "b", line: 1, tier: "batch", costNano: 5 });
    tables.claims.writes.commit({ claim: done!, outcome, ledger: row });
    tables.claims.writes.release({ claims: [back!], notBeforeMs: 0 });
    expect(tables.budgets.reads.spent({ owner: "local", day: DAY })).toEqual({ dayNano: 5, monthNano: 5, heldNano: 0 });
    expect(tables.budgets.reads.spent({ owner: "local", day: DAY + 1 }).dayNano).toBe(0);
  });

  it.each(["NULL", "2147483647"])("reserve at most the context for an answer with a limit of %s tokens", (most) => {
    const tables = withBudget(10_000);
    runningBatch(tables, "b", 1);
    tables.db.exec(`UPDATE lines SET max_tokens = ${most}, choices = 2, length = 5000`);
    claim(tables, 1);
    expect(tables.budgets.reads.spent({ owner: "local", day: DAY }).heldNano).toBe(200 + 2 * 200 * 2);
  });

  it("reserve their whole length where they generate nothing", () => {
    const tables = withBudget(100_000);
    runningBatch(tables, "b", 1);
    tables.db.exec("UPDATE lines SET choices = 0, length = 5000");
    claim(tables, 1);
    expect(tables.budgets.reads.spent({ owner: "local", day: DAY }).heldNano).toBe(5000);
  });

  it("leave half of the rest to requests; a line above the other half runs alone", () => {
    const tables = withBudget(LINE_NANO);
    runningBatch(tables, "b", 3);
    expect(reserve(tables, "before", 11)).toBe("reserved");
    const { lines, paused } = claim(tables, 9);
    expect(lines.map(({ number }) => number)).toEqual([1]);
    expect(paused).toMatchObject([{ usedUp: [{ heldNano: 11 + 50 }] }]);
    expect(reserve(tables, "request", 49)).toBe("reserved");
    tables.budgets.rebuilds.release({ ids: ["request"] });
    tables.claims.writes.release({ claims: lines, notBeforeMs: 0 });
    expect(claim(tables, 9).lines.map(({ number }) => number)).toEqual([1]);
  });

  it("that cost nothing run on a budget of zero", () => {
    const tables = withBudget(0);
    runningBatch(tables, "b", 3);
    const terms = { inputNano: 0, outputNano: 0, context: 200 };
    expect(tables.claims.writes.claim({ batchIds: ["b"], limit: 9, nowMs: NOW_MS, terms }).lines).toHaveLength(3);
  });
});

describe("requests in random order at random prices", () => {
  const request = fc.record({
    nano: fc.integer({ min: 1, max: 60 }),
    /** Fraction of the bound that is charged; null is never charged. */
    used: fc.option(fc.double({ min: 0, max: 1, noNaN: true })),
    settleAfter: fc.nat(5),
  });
  it("overspend a budget by less than the last admitted request", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 200 }), fc.array(request, { maxLength: 40 }), (limit, requests) => {
        const tables = withBudget(limit);
        const open: { id: string; nano: number; used: number | null; at: number }[] = [];
        let largest = 0;
        requests.forEach(({ nano, used, settleAfter }, index) => {
          for (const one of open.filter(({ at }) => at <= index)) {
            open.splice(open.indexOf(one), 1);
            if (one.used === null) tables.budgets.rebuilds.release({ ids: [one.id] });
            else {
              const row = ledgerRow({ day: DAY, costNano: Math.round(one.nano * one.used) });
              tables.ledger.writes.insert({ rows: [row], settled: [one.id] });
            }
          }
          if (reserve(tables, `r${index}`, nano) !== "reserved") return;
          largest = Math.max(largest, nano);
          open.push({ id: `r${index}`, nano, used, at: index + settleAfter });
          const [status] = tables.budgets.reads.statuses({ owner: "local", keyId: null, day: DAY });
          expect(status!.spentNano + status!.heldNano).toBeLessThan(limit + largest);
        });
        tables.db.close();
      }),
      { numRuns: 60 },
    );
  });
});
