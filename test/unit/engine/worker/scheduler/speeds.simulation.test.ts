import { expect, test } from "vitest";
import { ObjectiveWatch } from "../../../../../engine/worker/cost/objectives.ts";
import { NO_TILE, StepModel, type StepShape, type Tile } from "../../../../../engine/worker/cost/step-model.ts";
import type { Attended } from "../../../../../engine/worker/kv/kv-cache.ts";
import { planStep } from "../../../../../engine/worker/scheduler/plan.ts";
import type { Sequence } from "../../../../../engine/worker/scheduler/scheduled-sequence.ts";
import { StepDraft } from "../../../../../engine/worker/scheduler/step-draft.ts";
import { LIMITS, left, PLAIN, UNBOUNDED } from "./plan-rig.ts";

const STREAMS = 8;
const STREAM_DEPTH = 300;
const PROMPT = 2000;
/** A 30M model on one core of an AMD EPYC, in milliseconds; 10 times slower to 100 times faster. */
const COSTS = { o: 2, p: 0.8, d: 1.3, k: 0.004, r: 0.001 };
const SPEEDS = Array.from({ length: 61 }, (_, i) => 0.1 * 1000 ** (i / 60));

interface Outcome {
  speed: number;
  /** Milliseconds to the prompt's first token, beside the streams and alone. */
  ttftMs: number;
  aloneMs: number;
  worstGapMs: number;
  objectiveMs: number;
}

/** A prompt of 2,000 tokens arrives beside 8 streams; streams and prompt alternate, as in a split cache. */
function outcome(speed: number, asked: number | "auto", tile: Tile): Outcome {
  const { o, p, d, k, r } = COSTS;
  const predict = ({ prefill, decode, kv, read }: StepShape) =>
    (o + p * prefill + d * decode + k * kv + r * read) / speed;
  const costs = { predict, reach: UNBOUNDED, tile };
  const watch = new ObjectiveWatch({ ttftMs: "auto", itlMs: asked }, { sequences: 32, context: 4096 });
  watch.review(costs);
  const prompt = { ...left(1, STREAMS), tokens: Array<number>(PROMPT).fill(1), computed: 0 };
  const streams = Array.from({ length: STREAMS }, (_, id) => ({ ...left(1, id), computed: STREAM_DEPTH }));
  for (const stream of streams) stream.tokens.length = STREAM_DEPTH + 1;
  const attended: Attended = ({ computed }, count) => count * computed + (count * (count + 1)) / 2;
  const stepMs = (running: Sequence[], kind: "prompts" | "decodes" | null) => {
    const limits = { ...LIMITS, ttftMs: watch.ttftMs, itlMs: watch.itlMs, mostStepMs: Number.POSITIVE_INFINITY };
    const draft = new StepDraft<Sequence>(costs, attended, "consecutive");
    planStep(running, limits, draft, { ...PLAIN, kind });
    for (const { sequence, count } of draft.entries) if (sequence === prompt) prompt.computed += count;
    return draft.ms;
  };
  let ttftMs = 0;
  let worstGapMs = 0;
  for (let step = 0; prompt.computed < PROMPT; step++) {
    expect(step).toBeLessThan(1000);
    const read = PROMPT - prompt.computed > 1 ? stepMs([...streams, prompt], "prompts") : 0;
    const gap = read + stepMs([...streams, prompt], "decodes");
    ttftMs += gap;
    worstGapMs = Math.max(worstGapMs, gap);
  }
  prompt.computed = 0;
  let aloneMs = 0;
  while (prompt.computed < PROMPT) aloneMs += stepMs([prompt], null);
  return { speed, ttftMs, aloneMs, worstGapMs, objectiveMs: watch.itlMs };
}

const TILES: [string, Tile][] = [
  ["where a short chunk is as good as a long one", NO_TILE],
  ["where a token of a short chunk pays 12 times for attention", { rows: 64, below: 12 }],
];

test.each(TILES)("by default a long prompt takes at most 1.5 times its time alone at any speed, %s", (_, tile) => {
  for (const { speed, ttftMs, aloneMs, worstGapMs, objectiveMs } of SPEEDS.map((each) => outcome(each, "auto", tile))) {
    // Another number of streams than the usual one, and rests of chunks, cost a little more.
    expect([speed, ttftMs / aloneMs]).toEqual([speed, expect.closeTo(1.2, 0.3)]);
    const tileMs = (COSTS.o + 64 * (COSTS.p + COSTS.r * PROMPT)) / speed;
    expect([speed, worstGapMs <= objectiveMs + 2 * tileMs]).toEqual([speed, true]);
  }
});

test.each(
  TILES.flatMap(([name, tile]) => (["auto", 20, 50, 500] as const).map((asked) => [asked, name, tile] as const)),
)("with the objective %s a long prompt takes at most 2.5 times its time alone, %s", (asked, _, tile) => {
  const outcomes = SPEEDS.map((speed) => outcome(speed, asked, tile));
  for (const [i, { speed, ttftMs, aloneMs }] of outcomes.entries()) {
    expect([speed, ttftMs / aloneMs < 2.5]).toEqual([speed, true]);
    // The last chunk falls into one cycle or the next.
    const [next, half] = [outcomes[i - 1], outcomes[i - 6]];
    if (next) expect([speed, ttftMs <= next.ttftMs + next.worstGapMs]).toEqual([speed, true]);
    if (half) expect([speed, ttftMs < half.ttftMs]).toEqual([speed, true]);
  }
});

test("a calibrated step model prices short chunks before the first request", () => {
  const tile = { rows: 64, below: 12 };
  const model = new StepModel(tile);
  const truth = (shape: StepShape) =>
    2 + 0.8 * shape.prefill + 1.3 * shape.decode + 0.004 * shape.kv + 0.001 * shape.read;
  const shapes: StepShape[] = [
    { prefill: 0, decode: 1, kv: 1, read: 0, passes: 1 },
    { prefill: 0, decode: 1, kv: 1024, read: 0, passes: 1 },
    { prefill: 0, decode: 4, kv: 4096, read: 0, passes: 1 },
    { prefill: 0, decode: 4, kv: 4, read: 0, passes: 1 },
    { prefill: 64, decode: 0, kv: 0, read: 64 * 1024, passes: 1 },
    { prefill: 64, decode: 0, kv: 0, read: 0, passes: 1 },
    { prefill: 16, decode: 0, kv: 0, read: 16 * 1024 * 12, passes: 1 },
    { prefill: 128, decode: 0, kv: 0, read: 0, passes: 1 },
  ];
  model.calibrate(shapes.map((shape) => ({ shape, ms: truth(shape) })));
  for (const shape of shapes) {
    expect(model.predict(shape) / truth(shape)).toBeGreaterThan(0.8);
    expect(model.predict(shape) / truth(shape)).toBeLessThan(1.25);
  }
  expect(model.steps).toEqual({ prefill: 0, decode: 0 });
  expect(model.reach.prefill).toBeGreaterThanOrEqual(128);
});
