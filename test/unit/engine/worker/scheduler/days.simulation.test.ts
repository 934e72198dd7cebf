import { expect, test } from "vitest";
import { Random } from "../../../../../bench/base/random.ts";
import { chatTraffic, scaled } from "../../../../../bench/suite/load/traffic.ts";
import type { Tier } from "../../../../../engine/protocol/request.ts";
import { isOnline } from "../../../../../engine/worker/scheduler/tiers.ts";
import { type Arrival, type Arrivals, Schedule, type TwoTierSetup, TwoTiers } from "./two-tier.ts";

const HOUR = 3_600_000;
const DAYS = 2;

/** A machine with steps of about 60 ms, so that a day does not have millions of them. */
const SETUP: TwoTierSetup = {
  kind: "split",
  machine: { fit: { o: 55, p: 2, d: 4, k: 0.0002, r: 0.0002, m: 20 }, noise: 0.05 },
  sequences: 16,
  cells: 512,
  itlMs: 200,
  batchTax: 0.1,
  batchStepMs: 150,
  seed: 1,
};

/** Requests per hour at the peak, and batch lines submitted each evening. */
const BUSIEST = 600;
const LINES = 3000;
/** Batch lines that the line dispatcher keeps in the engine. */
const IN_ENGINE = 32;

/** Load in multiples of the busiest hour: high by day. */
function rhythm(at: number): number {
  const hour = (at / HOUR) % 24;
  return 0.05 + 0.95 * Math.max(0, Math.sin(((hour - 6) / 16) * Math.PI));
}

const evening = (day: number) => (24 * day + 17) * HOUR;

/** Chats by the trace's model, thinned by the hour, some flex, and a batch each evening, fed as by the line dispatcher. */
class Days implements Arrivals {
  readonly #random = new Random(7);
  readonly #chats: Schedule;
  #day = 0;
  #lines = 0;

  constructor() {
    const chats = scaled(chatTraffic(), 16, SETUP.cells).draw(BUSIEST / 3600, (DAYS * 24 * HOUR) / 1000, this.#random);
    const awake = chats.filter(({ atMs }) => this.#random.next() < rhythm(atMs));
    this.#chats = new Schedule(
      awake.map(({ atMs, prompt, tokens }) => ({ tier: this.#tier(), at: atMs, prompt, goal: tokens })),
    );
  }

  get nextAt(): number {
    return Math.min(this.#chats.nextAt, this.#day < DAYS ? evening(this.#day) : Number.POSITIVE_INFINITY);
  }

  due(now: number, waiting: (tier: Tier) => number): Arrival[] {
    if (now >= evening(this.#day)) {
      this.#day++;
      this.#lines += LINES;
    }
    const arrivals = this.#chats.due(now);
    for (let waits = waiting("batch"); waits < IN_ENGINE && this.#lines > 0; waits++) {
      this.#lines--;
      arrivals.push({ tier: "batch", at: now, prompt: 16 + Math.floor(64 * this.#random.next()), goal: 32 });
    }
    return arrivals;
  }

  #tier(): Tier {
    const u = this.#random.next();
    return u < 0.05 ? "flex" : u < 0.15 ? "priority" : "default";
  }
}

test("days of chat with a batch each evening: online never waits for lower tiers, batches end", () => {
  const tiers = new TwoTiers(SETUP, new Days());
  let steps = 0;
  let worstFlexRun = 0;
  let flexRun = 0;
  tiers.run(({ step }) => {
    steps++;
    const waits = [...tiers.live].some(({ tier }) => tier === "flex");
    const computes = step.entries.some(({ sequence }) => sequence.tier === "flex");
    flexRun = waits && !computes ? flexRun + 1 : 0;
    worstFlexRun = Math.max(worstFlexRun, flexRun);
  });

  expect(steps).toBeGreaterThan(50_000);
  expect(tiers.now).toBeGreaterThan((DAYS * 24 - 1) * HOUR);
  expect(tiers.sequences.every(({ state, tokens, goal }) => state === "ended" && tokens.length === goal)).toBe(true);
  for (const sequence of tiers.sequences.filter(isOnline)) expect(sequence.behindLower).toBeLessThanOrEqual(1);
  expect(worstFlexRun).toBeLessThan(400);

  // nothing leaks over the days
  expect([tiers.scheduler.running, tiers.scheduler.waiting]).toEqual([0, 0]);
  expect(tiers.cache.idle.count).toBeLessThanOrEqual(SETUP.sequences);

  // each batch ends by the morning, although it arrives at a busy hour
  for (let day = 0; day < DAYS; day++) {
    const from = evening(day);
    const lines = tiers.sequences.filter(
      ({ tier, arrivedAt }) => tier === "batch" && arrivedAt >= from && arrivedAt < from + 24 * HOUR,
    );
    const until = Math.max(...lines.map(({ ended }) => ended!));
    expect(lines).toHaveLength(LINES);
    expect(until - from).toBeLessThan(12 * HOUR);
  }
});
