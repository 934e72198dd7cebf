import fc from "fast-check";
import { expect, test } from "vitest";
import type { Claim, ClaimedLine } from "../../../store/types/line-row.ts";
import { type MemoryTables, memoryTables, runningBatch } from "./memory-tables.ts";
import { FREE, ledgerRow } from "./rows.ts";

const BATCHES = ["batch-a", "batch-b"];

type Step =
  | { kind: "claim"; limit: number }
  | { kind: "claimSuspects"; which: number; limit: number }
  | { kind: "commit"; which: number; failed: boolean; again: boolean }
  | { kind: "release"; which: number }
  | { kind: "engineDied"; withOthers: boolean }
  | { kind: "restart" }
  | { kind: "cancel"; batch: number }
  | { kind: "expire"; batch: number; limit: number; running: boolean };

const which = fc.nat(50);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant("claim" as const), limit: fc.integer({ min: 1, max: 9 }) }) },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant("claimSuspects" as const), which, limit: fc.integer({ min: 1, max: 9 }) }),
  },
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant("commit" as const), which, failed: fc.boolean(), again: fc.boolean() }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("release" as const), which }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("engineDied" as const), withOthers: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("restart" as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("cancel" as const), batch: fc.nat(1) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("expire" as const),
      batch: fc.nat(1),
      limit: fc.integer({ min: 1, max: 9 }),
      running: fc.boolean(),
    }),
  },
);

/** Claims of the current server; those before a restart or a release are kept as stale ones. */
class Runner {
  readonly tables: MemoryTables = memoryTables();
  inEngine: ClaimedLine[] = [];
  readonly stale: Claim[] = [];

  constructor(sizes: readonly number[]) {
    BATCHES.forEach((id, index) => {
      runningBatch(this.tables, id, sizes[index] ?? 1);
    });
  }

  run(step: Step): void {
    const { claims, batches, lines } = this.tables;
    switch (step.kind) {
      case "claim":
        this.inEngine.push(
          ...claims.writes.claim({ batchIds: BATCHES, limit: step.limit, nowMs: 0, terms: FREE }).lines,
        );
        break;
      case "claimSuspects": {
        const groups = claims.reads.suspects();
        const group = groups[step.which % Math.max(1, groups.length)];
        if (group === undefined) break;
        const { suspect } = group;
        this.inEngine.push(...claims.writes.claimSuspects({ suspect, limit: step.limit, nowMs: 0, terms: FREE }));
        break;
      }
      case "commit":
        this.#commit(step.which, step.failed, step.again);
        break;
      case "release": {
        const [claim] = this.inEngine.splice(step.which % Math.max(1, this.inEngine.length), 1);
        if (claim === undefined) break;
        claims.writes.release({ claims: [claim], notBeforeMs: 0 });
        this.stale.push(claim);
        break;
      }
      case "engineDied": {
        const dead = this.inEngine.splice(0);
        claims.writes.engineDied({ claims: dead, withOthers: step.withOthers, failure: "{}" });
        this.stale.push(...dead);
        break;
      }
      case "restart":
        this.stale.push(...this.inEngine.splice(0));
        claims.writes.recover();
        break;
      case "cancel":
        batches.writes.cancel({ owner: "local", id: BATCHES[step.batch]!, now: 2000 });
        break;
      case "expire": {
        const { limit, running } = step;
        lines.writes.end({ batchId: BATCHES[step.batch]!, state: "expired", running, error: "{}", limit });
        break;
      }
    }
  }

  #commit(which: number, failed: boolean, again: boolean): void {
    const [claim] = this.inEngine.splice(which % Math.max(1, this.inEngine.length), 1);
    if (claim !== undefined) {
      this.commit(claim, failed);
      if (again) expect(this.commit(claim, failed)).toBe("stale");
    }
    const late = this.stale[which % Math.max(1, this.stale.length)];
    if (late !== undefined) expect(this.commit(late, failed)).toBe("stale");
  }

  commit({ batchId, number, attempt }: Claim, failed: boolean): string {
    const ledger = failed ? null : ledgerRow({ tier: "batch", batchId, line: number });
    const kind = failed ? ("error" as const) : ("output" as const);
    const state = failed ? ("failed" as const) : ("done" as const);
    const outcome = { state, kind, requestId: `req_${number}`, statusCode: failed ? 400 : 200, body: "{}" };
    return this.tables.claims.writes.commit({ claim: { batchId, number, attempt }, outcome, ledger }).outcome;
  }

  /**
   * Each line has one state, a terminal line exactly one result, a done line exactly one charge; the batch's counts
   * agree.
   */
  checkConservation(): void {
    const { db, batches } = this.tables;
    const wrong = db
      .prepare(
        `SELECT l.batch_id, l.number, l.state FROM lines l WHERE
           (SELECT count(*) FROM results r WHERE r.batch_id = l.batch_id AND r.number = l.number)
             != (l.state NOT IN ('pending', 'running'))
           OR (SELECT count(*) FROM ledger g WHERE g.batch_id = l.batch_id AND g.line = l.number) != (l.state = 'done')
           OR (SELECT count(*) FROM results r WHERE r.batch_id = l.batch_id AND r.number = l.number
                AND r.kind = 'output') != (l.state = 'done')
           OR (l.suspect > 0 AND l.state NOT IN ('pending', 'running'))`,
      )
      .all();
    expect(wrong).toEqual([]);
    // Money is reserved for running lines only, and spending equals the ledger.
    const held = db.prepare("SELECT id FROM reservations ORDER BY id").all();
    const running = "SELECT batch_id || '/' || number AS id FROM lines WHERE state = 'running' ORDER BY id";
    expect(held).toEqual(db.prepare(running).all());
    const spent = db.prepare("SELECT subject, day, nano FROM spending WHERE scope = 'owner' ORDER BY 1, 2").all();
    const charged = "SELECT owner AS subject, day, sum(cost_nano) AS nano FROM ledger GROUP BY 1, 2 ORDER BY 1, 2";
    expect(spent).toEqual(db.prepare(charged).all());
    for (const id of BATCHES) {
      const counted = Object.fromEntries(
        this.tables.lines.reads.counts({ batchId: id }).map((c) => [c.state, c.count]),
      );
      const batch = batches.reads.find({ id })!;
      expect(batch).toMatchObject({ completed: counted.done ?? 0, failed: counted.failed ?? 0 });
      expect(Object.values(counted).reduce((sum, count) => sum + count, 0)).toBe(batch.total);
      const unfinished = (counted.pending ?? 0) + (counted.running ?? 0);
      expect(batch.estimatedTokens - batch.settledTokens).toBe(unfinished * 10);
      expect(batch.costNano).toBe(batch.completed * 1000);
    }
  }

  /** Ends everything: claimable lines are answered, all others cancelled. */
  drain(): void {
    const { claims, batches, lines } = this.tables;
    this.run({ kind: "restart" });
    for (const { suspect } of claims.reads.suspects()) {
      for (const claim of claims.writes.claimSuspects({ suspect, limit: 1000, nowMs: 0, terms: FREE }))
        this.commit(claim, false);
    }
    for (const claim of claims.writes.claim({ batchIds: BATCHES, limit: 1000, nowMs: 0, terms: FREE }).lines)
      this.commit(claim, false);
    for (const id of BATCHES) {
      if (batches.reads.find({ id })!.status !== "cancelling") continue;
      while (lines.writes.end({ batchId: id, state: "cancelled", running: true, error: "{}", limit: 3 }) > 0);
    }
  }
}

test("each line ends exactly once under random operations, kills and restarts", () => {
  fc.assert(
    fc.property(
      fc.tuple(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 12 })),
      fc.array(step),
      (sizes, steps) => {
        const runner = new Runner(sizes);
        for (const one of steps) {
          runner.run(one);
          runner.checkConservation();
        }
        runner.drain();
        runner.checkConservation();
        const unfinished = "SELECT count(*) FROM lines WHERE state IN ('pending', 'running')";
        expect(runner.tables.db.prepare(unfinished).pluck().get()).toBe(0);
        runner.tables.db.close();
      },
    ),
    { numRuns: 150 },
  );
});

test("bisection fails the one line of 64 that kills the engine, and completes the others", () => {
  const runner = new Runner([64, 1]);
  const { claims } = runner.tables;
  const poison = 37;
  let deaths = 0;
  const settle = (group: ClaimedLine[]) => {
    if (!group.some(({ batchId, number }) => batchId === "batch-a" && number === poison)) {
      for (const claim of group) runner.commit(claim, false);
      return;
    }
    deaths += 1;
    claims.writes.engineDied({ claims: group, withOthers: false, failure: '{"code":"engine_died"}' });
  };
  settle(claims.writes.claim({ batchIds: ["batch-a"], limit: 64, nowMs: 0, terms: FREE }).lines);
  for (let groups = claims.reads.suspects(); groups.length > 0; groups = claims.reads.suspects()) {
    for (const { suspect } of groups)
      settle(claims.writes.claimSuspects({ suspect, limit: 64, nowMs: 0, terms: FREE }));
  }
  // 64 → 32 → 16 → 8 → 4 → 2, and then three times alone.
  expect(deaths).toBe(6 + 3);
  expect(runner.tables.lines.reads.counts({ batchId: "batch-a" })).toEqual([
    { state: "done", count: 63 },
    { state: "failed", count: 1 },
  ]);
  const { rows } = runner.tables.results.reads.page({
    batchId: "batch-a",
    kind: "error",
    after: 0,
    limit: 10,
    maxChars: 1000,
  });
  expect(rows).toMatchObject([{ number: poison, statusCode: null, body: '{"code":"engine_died"}' }]);
});
