import { expect, test } from "vitest";
import { COST_SETTINGS, costBaseline } from "../../../../bench/samplers/cost-settings.ts";
import { addedCost } from "../../../../bench/samplers/sampler-costs.ts";
import { peerFields, plainFields, SETTINGS } from "../../../../bench/samplers/settings.ts";

test("llama-server gets repetition_penalty as a penalty of a window beyond the text", () => {
  expect(peerFields({ repetition_penalty: 1.3, temperature: 0 })).toEqual({
    repeat_penalty: 1.3,
    repeat_last_n: 4096,
    temperature: 0,
  });
  expect(peerFields({ repeat_penalty: 1.3, repeat_last_n: 8 })).toEqual({ repeat_penalty: 1.3, repeat_last_n: 8 });
});

test("a setting with one candidate left is compared with the greedy answer", () => {
  expect(plainFields(SETTINGS["top_k 1 behind xtc"]!)).toEqual({ temperature: 0 });
  expect(plainFields(SETTINGS["xtc, greedy"]!)).toEqual({ temperature: 0 });
  expect(plainFields(SETTINGS.typical_p!)).toEqual({ temperature: 1, ignore_eos: false });
});

test("temperature alone is compared with the answer at temperature 1", () => {
  expect(plainFields(SETTINGS.temperature!)).toEqual({ temperature: 1 });
  expect(plainFields(SETTINGS.greedy!)).toEqual({ temperature: 1 });
});

test("costs of samplers on greedy requests are compared with greedy ones, all others with drawn ones", () => {
  expect(costBaseline(COST_SETTINGS.repetition_penalty!)).toEqual({ temperature: 0 });
  expect(costBaseline(COST_SETTINGS.temperature!)).toEqual({});
  expect(costBaseline(COST_SETTINGS.greedy!)).toEqual({});
  expect(costBaseline(COST_SETTINGS.typical_p!)).toEqual({ ignore_eos: false });
});

test("an added cost is of two repeats of one round", () => {
  const times = (first: number, token: number) => ({ first, token });
  const plain = [times(10, 2), times(12, 4), times(10, 10)];
  const withSampler = [times(15, 3), times(12, 4), times(50, 20)];
  expect(addedCost({ setting: "top_k", label: "nightshift", plain, withSampler })).toEqual({
    ratio: { median: 1.5, min: 1, max: 2 },
    tokenUs: { median: 1000, min: 0, max: 10_000 },
    firstMs: { median: 5, min: 0, max: 40 },
  });
});
