import { expect, test } from "vitest";
import { type EmbeddingShape, planEmbedding } from "../../../engine/worker/native/embedding-plan.ts";

const GIB = 2 ** 30;
/** A generative model of 0.5B: 152,000 tokens, 12 KiB per cell. */
const CAUSAL: EmbeddingShape = {
  pooling: "mean",
  width: 896,
  vocabulary: 151_936,
  trainedContext: 32_768,
  cellBytes: 12_288,
  whole: false,
  gpu: false,
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
  expect(planEmbedding(CONFIG, small, GIB)!.togetherTokens).toBe(64);
  expect(planEmbedding(CONFIG, { ...small, gpu: true }, GIB)!.togetherTokens).toBe(512);
});

test("where memory is short inputs are shorter, and then there are none", () => {
  const plan = planEmbedding(CONFIG, CAUSAL, 160 * 2 ** 20)!;
  expect(plan.context).toBeLessThan(8192);
  expect(plan.context).toBeGreaterThan(0);
  expect(plan.bytes).toBeLessThanOrEqual(160 * 2 ** 20);
  expect(planEmbedding(CONFIG, CAUSAL, 64 * 2 ** 20)).toBeNull();
});

test("an encoder takes an input whole, at most as long as it was trained for", () => {
  expect(planEmbedding(CONFIG, ENCODER, GIB)).toMatchObject({ context: 512, batchTokens: 512 });
  expect(planEmbedding({ ...CONFIG, context: 4096 }, ENCODER, GIB)).toMatchObject({ context: 512 });
  const long = { ...ENCODER, trainedContext: 8192 };
  expect(planEmbedding(CONFIG, long, GIB)).toMatchObject({ context: 2048, batchTokens: 2048 });
  expect(planEmbedding({ ...CONFIG, context: 8192 }, long, GIB)).toMatchObject({ context: 8192, batchTokens: 8192 });
});
