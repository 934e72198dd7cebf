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

test("a generating model takes inputs of a prompt's length, in batches of 128 MiB of logits", () => {
  const plan = planEmbedding(CONFIG, CAUSAL, 4 * GIB)!;
  expect(plan.context).toBe(8192);
  expect(plan.batchTokens * CAUSAL.vocabulary * 8).toBeLessThanOrEqual(128 * 2 ** 20);
  expect(plan.cells).toBeGreaterThanOrEqual(plan.context + plan.batchTokens);
  expect(planEmbedding(CONFIG, { ...CAUSAL, vocabulary: 1024 }, GIB)!.batchTokens).toBe(512);
});

test("several inputs share a batch of few tokens on a CPU, and a whole batch on a GPU", () => {
  const small = { ...CAUSAL, vocabulary: 1024 };
  expect(planEmbedding(CONFIG, small, GIB)!.togetherTokens).toBe(256);
  expect(planEmbedding(CONFIG, { ...small, flash: "never" }, GIB)!.togetherTokens).toBe(64);
  expect(planEmbedding(CONFIG, { ...small, gpu: true }, GIB)!.togetherTokens).toBe(512);
});

test("where flash attention needs a tile, smaller batches have a context of their own", () => {
  for (const shape of [{ ...CAUSAL, vocabulary: 1024 }, ENCODER]) {
    const always = planEmbedding(CONFIG, shape, GIB)!;
    const tiles = planEmbedding(CONFIG, { ...shape, flash: "tiles" }, GIB)!;
    expect(always.few).toBeNull();
    expect(tiles.few).toEqual({ cells: 256, tokens: 64, flashAttention: "off" });
    expect(tiles.bytes).toBeGreaterThan(always.bytes);
    expect(tiles.togetherTokens).toBe(256);
  }
});

test("where memory is short inputs are shorter, down to no plan", () => {
  const plan = planEmbedding(CONFIG, CAUSAL, 160 * 2 ** 20)!;
  expect(plan.context).toBeLessThan(8192);
  expect(plan.context).toBeGreaterThan(0);
  expect(plan.bytes).toBeLessThanOrEqual(160 * 2 ** 20);
  expect(planEmbedding(CONFIG, CAUSAL, 64 * 2 ** 20)).toBeNull();
});

test("the tokens of a batch are a multiple of its inputs for every model and option", () => {
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

test("an encoder computes an input whole, at most of its trained context", () => {
  expect(planEmbedding(CONFIG, ENCODER, GIB)).toMatchObject({ context: 512, batchTokens: 512 });
  expect(planEmbedding({ ...CONFIG, context: 4096 }, ENCODER, GIB)).toMatchObject({ context: 512 });
  const long = { ...ENCODER, trainedContext: 8192 };
  expect(planEmbedding(CONFIG, long, GIB)).toMatchObject({ context: 2048, batchTokens: 2048 });
  expect(planEmbedding({ ...CONFIG, context: 8192 }, long, GIB)).toMatchObject({ context: 8192, batchTokens: 8192 });
});

describe("the memory needs", () => {
  const options = { sequences: 8, kv: "auto" as const, cells: null, ...CONFIG };
  const facts: MemoryFacts = {
    trainedContext: 32_768,
    cellBytes: CAUSAL.cellBytes,
    stateBytes: 0,
    weightBytes: GIB / 2,
    freeBytes: 64 * GIB,
    onGpu: false,
    memory: "full",
  };

  test.each(["always", "tiles"] as const)("as a limit give the full plan, flash attention %s", (flash) => {
    const shape = { ...CAUSAL, flash };
    const { least, wanted } = memoryNeeds(options, facts, wantedBytes(CONFIG, shape));
    const cacheBytes = planMemory({ ...options, memory: wanted }, facts).cells * facts.cellBytes;
    expect(cacheBytes).toBe(8 * 8192 * facts.cellBytes);
    const all = planEmbedding(CONFIG, shape, GIB);
    expect(planEmbedding(CONFIG, shape, embeddingBudget({ memory: wanted }, facts, cacheBytes))).toEqual(all);
    // Embeddings do not raise the least memory of a model that generates.
    expect(least).toBe(memoryNeeds(options, facts, 0).least);
  });

  test("of a model that only embeds are its longest input, without a cache", () => {
    const { least, wanted } = embeddingNeeds(facts, wantedBytes(CONFIG, ENCODER));
    expect(wanted).toBe(least);
    expect(least).toBe(facts.weightBytes + SLACK_BYTES + wantedBytes(CONFIG, ENCODER) + 1);
    expect(planEmbedding(CONFIG, ENCODER, embeddingBudget({ memory: least }, facts, 0))!.context).toBe(512);
  });

  test("the budget is half of the rest, or of a limit all but what is kept free", () => {
    const left = { weightBytes: GIB, freeBytes: 4 * GIB };
    expect(embeddingBudget({ memory: null }, left, GIB)).toBe(GIB);
    expect(embeddingBudget({ memory: 2 * GIB + SLACK_BYTES }, left, GIB)).toBe(SLACK_BYTES / 2);
    expect(embeddingBudget({ memory: GIB }, left, GIB)).toBe(0);
  });
});
