import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type EmbeddingShape,
  MOST_INPUTS,
  planEmbedding,
  wantedBytes,
} from "../../../../../engine/worker/native/embedding-plan.ts";
import {
  embeddingBudget,
  embeddingNeeds,
  type MemoryFacts,
  memoryNeeds,
  planMemory,
  SLACK_BYTES,
} from "../../../../../engine/worker/native/memory-plan.ts";

const GIB = 2 ** 30;
/** A generative model of 0.5B: 152,000 tokens, 12 KiB per cell. */
const CAUSAL: EmbeddingShape = {
  pooling: "mean",
  width: 896,
  vocabulary: 151_936,
  trainedContext: 32_768,
  cellBytes: 12_288,
  stateBytes: 0,
  whole: false,
  gpu: false,
  flash: "always",
};
const ENCODER: EmbeddingShape = { ...CAUSAL, pooling: "cls", vocabulary: 30_522, trainedContext: 512, whole: true };
const CONFIG = { context: null, stepTokens: 512 };

test("a model that generates reads as long inputs as prompts, in pieces whose logits stay within 128 MiB", () => {
  const plan = planEmbedding(CONFIG, CAUSAL, 4 * GIB)!;
  expect(plan.context).toBe(8192);
  expect(plan.batchTokens * CAUSAL.vocabulary * 8).toBeLessThanOrEqual(128 * 2 ** 20);
  expect(plan.cells).toBeGreaterThanOrEqual(plan.context + plan.batchTokens);
  expect(planEmbedding(CONFIG, { ...CAUSAL, vocabulary: 1024 }, GIB)!.batchTokens).toBe(512);
});

test("several inputs have as many tokens together as pays: on a CPU few, on a GPU all of a piece", () => {
  const small = { ...CAUSAL, vocabulary: 1024 };
  expect(planEmbedding(CONFIG, small, GIB)!.togetherTokens).toBe(256);
  expect(planEmbedding(CONFIG, { ...small, flash: "never" }, GIB)!.togetherTokens).toBe(64);
  expect(planEmbedding(CONFIG, { ...small, gpu: true }, GIB)!.togetherTokens).toBe(512);
});

test("where flash attention pays from a tile on, smaller pieces have a context of their own, which is counted", () => {
  for (const shape of [{ ...CAUSAL, vocabulary: 1024 }, ENCODER]) {
    const always = planEmbedding(CONFIG, shape, GIB)!;
    const tiles = planEmbedding(CONFIG, { ...shape, flash: "tiles" }, GIB)!;
    expect(always.few).toBeNull();
    expect(tiles.few).toEqual({ cells: 256, tokens: 64, flashAttention: "off" });
    expect(tiles.bytes).toBeGreaterThan(always.bytes);
    expect(tiles.togetherTokens).toBe(256);
  }
});

test("where memory is short inputs are shorter, and then there are none", () => {
  const plan = planEmbedding(CONFIG, CAUSAL, 160 * 2 ** 20)!;
  expect(plan.context).toBeLessThan(8192);
  expect(plan.context).toBeGreaterThan(0);
  expect(plan.bytes).toBeLessThanOrEqual(160 * 2 ** 20);
  expect(planEmbedding(CONFIG, CAUSAL, 64 * 2 ** 20)).toBeNull();
});

test("whatever the model and the options, the tokens of a piece are a multiple of its inputs", () => {
  const count = (max: number) => fc.integer({ min: 1, max });
  const given = {
    vocabulary: count(300_000),
    trainedContext: count(20_000),
    cellBytes: fc.integer({ min: 0, max: 200_000 }),
  };
  const shapes = fc.record({
    ...given,
    whole: fc.boolean(),
    gpu: fc.boolean(),
    flash: fc.constantFrom("tiles", "never"),
  });
  const config = fc.record({ context: fc.option(count(20_000)), stepTokens: count(4096) });
  fc.assert(
    fc.property(config, shapes, count(2 ** 33), (options, shape, free) => {
      const plan = planEmbedding(options, { ...CAUSAL, ...shape }, free);
      if (plan === null) return;
      for (const tokens of [plan.batchTokens, plan.few?.tokens ?? MOST_INPUTS]) expect(tokens % MOST_INPUTS).toBe(0);
      expect(plan.context).toBeGreaterThan(0);
      expect(plan.togetherTokens).toBeLessThanOrEqual(plan.batchTokens);
      if (!shape.whole) expect(plan.cells).toBeGreaterThanOrEqual(plan.context + plan.batchTokens);
    }),
  );
});

test("an encoder takes an input whole, at most as long as it was trained for", () => {
  expect(planEmbedding(CONFIG, ENCODER, GIB)).toMatchObject({ context: 512, batchTokens: 512 });
  expect(planEmbedding({ ...CONFIG, context: 4096 }, ENCODER, GIB)).toMatchObject({ context: 512 });
  const long = { ...ENCODER, trainedContext: 8192 };
  expect(planEmbedding(CONFIG, long, GIB)).toMatchObject({ context: 2048, batchTokens: 2048 });
  expect(planEmbedding({ ...CONFIG, context: 8192 }, long, GIB)).toMatchObject({ context: 8192, batchTokens: 8192 });
});

describe("what the book of memory is told", () => {
  const options = { sequences: 8, kv: "auto" as const, cells: null, ...CONFIG };
  const facts: MemoryFacts = {
    trainedContext: 32_768,
    cellBytes: CAUSAL.cellBytes,
    stateBytes: 0,
    weightBytes: GIB / 2,
    freeBytes: 64 * GIB,
    memory: "full",
  };

  test.each(["always", "tiles"] as const)("with all that is wanted nothing is shorter, flash attention %s", (flash) => {
    const shape = { ...CAUSAL, flash };
    const { least, wanted } = memoryNeeds(options, facts, wantedBytes(CONFIG, shape));
    const cacheBytes = planMemory({ ...options, memory: wanted }, facts).cells * facts.cellBytes;
    expect(cacheBytes).toBe(8 * 8192 * facts.cellBytes);
    const all = planEmbedding(CONFIG, shape, GIB);
    expect(planEmbedding(CONFIG, shape, embeddingBudget({ memory: wanted }, facts, cacheBytes))).toEqual(all);
    // A model that nobody embeds with is not kept out for it.
    expect(least).toBe(memoryNeeds(options, facts, 0).least);
  });

  test("a model that only embeds needs no cache, and room for its longest input", () => {
    const { least, wanted } = embeddingNeeds(facts, wantedBytes(CONFIG, ENCODER));
    expect(wanted).toBe(least);
    expect(least).toBe(facts.weightBytes + SLACK_BYTES + wantedBytes(CONFIG, ENCODER) + 1);
    expect(planEmbedding(CONFIG, ENCODER, embeddingBudget({ memory: least }, facts, 0))!.context).toBe(512);
  });

  test("without a limit they have half of what is left, and of a limit at least half of what is kept free", () => {
    const left = { weightBytes: GIB, freeBytes: 4 * GIB };
    expect(embeddingBudget({ memory: null }, left, GIB)).toBe(GIB);
    expect(embeddingBudget({ memory: 2 * GIB + SLACK_BYTES }, left, GIB)).toBe(SLACK_BYTES / 2);
    expect(embeddingBudget({ memory: GIB }, left, GIB)).toBe(0);
  });
});
