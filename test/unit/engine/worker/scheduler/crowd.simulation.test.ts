import { expect, test } from "vitest";
import { ObjectiveWatch } from "../../../../../engine/worker/cost/objectives.ts";
import type { StepShape } from "../../../../../engine/worker/cost/step-model.ts";
import type { Attended } from "../../../../../engine/worker/kv/kv-cache.ts";
import type { Sequence } from "../../../../../engine/worker/scheduler/scheduled-sequence.ts";
import { StepDraft } from "../../../../../engine/worker/scheduler/step-draft.ts";
import { StepPlanner } from "../../../../../engine/worker/scheduler/step-planner.ts";
import { LIMITS, left, UNBOUNDED } from "./plan-rig.ts";

/** A 30M model on one core of an AMD EPYC, in milliseconds; 10 times slower to 100 times faster. */
const COSTS = { o: 3.9, p: 0.6, d: 1.14, k: 0.001, r: 0.0002 };
const SPEEDS = Array.from({ length: 31 }, (_, i) => 0.1 * 1000 ** (i / 30));

interface Outcome {
  /** The last prompt's TTFT, as a multiple of the time that the prompts take without streams. */
  last: number;
  /** The longest gap of a stream, as a multiple of the objective or, if that is more, of two steps of all streams. */
  gap: number;
}

/** Prompts that arrive together, each a stream from its first token on, in a cache whose steps are of one kind or of both. */
function outcome(speed: number, split: boolean, prompts: number, tokens: number): Outcome {
  const { o, p, d, k, r } = COSTS;
  const predict = ({ prefill, decode, kv, read }: StepShape) =>
    (o + p * prefill + d * decode + k * kv + r * read) / speed;
  const costs = { predict, reach: UNBOUNDED };
  const watch = new ObjectiveWatch({ ttftMs: "auto", itlMs: "auto" }, { sequences: prompts, context: 4096 });
  watch.review(costs);
  const limits = { ...LIMITS, mostStepMs: Number.POSITIVE_INFINITY, ttftMs: watch.ttftMs, itlMs: watch.itlMs };
  const passes = split ? "consecutive" : "mixed";
  const planner = new StepPlanner<Sequence>(limits, () => new StepDraft(costs, attention(), passes));
  const running = Array.from({ length: prompts }, (_, id) => left(tokens, id));
  for (const sequence of running) Object.assign(sequence, { tokens: Array<number>(tokens).fill(1), computed: 0 });
  const attention = (): Attended => {
    const filled = running.reduce((sum, { computed }) => sum + computed, 0);
    if (split) return ({ computed }, count) => count * computed + (count * (count + 1)) / 2;
    return (_, count, before) => count * (filled + before + count);
  };
  const lastToken = new Map<Sequence, number>();
  let now = 0;
  let gap = 0;
  while (lastToken.size < prompts) {
    const plan = planner.plan(running, undefined, 0, 1);
    const planned = plan.entries.map(({ sequence }) => sequence);
    planner.count(running, planned, plan.forecast(), 0);
    expect(plan.entries.length).toBeGreaterThan(0);
    now += plan.ms;
    for (const { sequence, count } of plan.entries) {
      const last = lastToken.get(sequence);
      if (last !== undefined) gap = Math.max(gap, now - last);
      sequence.computed += count;
      if (sequence.computed < sequence.tokens.length) continue;
      lastToken.set(sequence, now);
      sequence.tokens.push(1);
    }
  }
  const work = prompts * tokens;
  // In a unified cache every prompt attends over the cells of all.
  const positions = (work * (split ? tokens : work + limits.stepTokens)) / 2;
  const alone = (p * work + r * positions + (o * work) / limits.stepTokens) / speed;
  const streamsMs = predict({ prefill: 0, decode: prompts, kv: work * (split ? 1 : prompts), read: 0, passes: 1 });
  return { last: now / alone, gap: gap / Math.max(watch.itlMs, 2 * streamsMs) };
}

test.each([
  ["split", true],
  ["unified", false],
])("the last of 64 short prompts starts within 1.3 times the time of all, in a %s cache at any speed", (_, split) => {
  for (const speed of SPEEDS) {
    const { last, gap } = outcome(speed, split, 64, 64);
    expect([speed, last < 1.3]).toEqual([speed, true]);
    expect([speed, gap <= 3]).toEqual([speed, true]);
  }
});

test("four long prompts keep the objective of those that started, at any speed", () => {
  // A prompt that a step ends is one more stream of the next step.
  for (const speed of SPEEDS) expect([speed, outcome(speed, true, 4, 2000).gap <= 1.1]).toEqual([speed, true]);
});
