import { describe, expect, test } from "vitest";
import type { Sampling } from "../../../../../../engine/protocol/sampling.ts";
import { Sampler } from "../../../../../../engine/worker/native/sampling/sampler.ts";
import { PLAIN_SAMPLING } from "../../../../../plain-submission.ts";

/** The calls that a sampler makes of libllama, without their common beginning. */
function chainOf(sampling: Partial<Sampling>): string[] | null {
  const calls: string[] = [];
  const made = new Map<bigint, string>();
  const llama = new Proxy(Object.create(null), {
    get: (_, name: string) => {
      return (...given: unknown[]) => {
        if (name === "llama_sampler_chain_add") return calls.push(made.get(BigInt(String(given[1])))!);
        if (name === "llama_sampler_free") return calls.push("free");
        const pointer = BigInt(made.size + 1);
        made.set(pointer, `${name.replace("llama_sampler_init_", "")}(${given.join(" ")})`);
        return pointer;
      };
    },
  });
  const sampler = new Sampler(llama, { ...PLAIN_SAMPLING, ...sampling }, { seed: 7, vocabulary: 100 });
  sampler.free();
  expect(calls.pop() ?? null).toBe(sampler.chain === null ? null : "free");
  return sampler.chain === null ? null : calls;
}

const DRAW = "dist(7)";
const XTC = { probability: 0.5, threshold: 0.1 };
const DYNAMIC = { range: 0.5, exponent: 2 };
const mirostat = (version: 1 | 2) => ({ version, tau: 5, eta: 0.1 });

describe("a chain has the samplers that change something, in order", () => {
  test.each<[string, Partial<Sampling>, string[]]>([
    ["none", { temperature: 1 }, [DRAW]],
    ["temperature", { temperature: 0.5 }, ["temp(0.5)", DRAW]],
    [
      "all, by default",
      { topK: 5, topP: 0.9, minP: 0.1, typicalP: 0.8, topNSigma: 1, xtc: XTC, temperature: 2 },
      [
        ...["top_n_sigma(1)", "top_k(5)", "min_p(1e-30 1)", "typical(0.8 0)", "top_p(0.9 0)", "min_p(0.1 0)"],
        ...["xtc(0.5 0.1 0 7)", "temp(2)", DRAW],
      ],
    ],
    ["least number", { temperature: 1, topP: 0.9, minP: 0.1, minKeep: 3 }, ["top_p(0.9 3)", "min_p(0.1 3)", DRAW]],
    [
      "another order, without top_p",
      { order: ["penalties", "temperature", "min_p", "top_k"], topK: 5, topP: 0.9, minP: 0.1, temperature: 2 },
      ["temp(2)", "min_p(0.1 0)", "top_k(5)", DRAW],
    ],
    ["dynamic temperature", { temperature: 1, dynamicTemperature: DYNAMIC }, ["temp_ext(1 0.5 2)", DRAW]],
    ["dynamic temperature from 0", { dynamicTemperature: DYNAMIC }, ["temp_ext(0 0.5 2)", DRAW]],
    ["typical_p, greedy", { typicalP: 0.5 }, ["min_p(1e-30 1)", "typical(0.5 0)", "temp(0)", DRAW]],
    ["XTC, greedy", { xtc: XTC }, ["xtc(0.5 0.1 0 7)", "temp(0)", DRAW]],
    [
      "Mirostat in place of others",
      { mirostat: mirostat(1), topK: 5, typicalP: 0.5, xtc: XTC, dynamicTemperature: DYNAMIC, temperature: 0.5 },
      ["temp(0.5)", "min_p(1e-30 1)", "mirostat(100 7 5 0.1 100)"],
    ],
    ["Mirostat 2.0", { mirostat: mirostat(2), temperature: 1 }, ["mirostat_v2(7 5 0.1)"]],
    ["no temperature", { order: ["top_k"], topK: 5, temperature: 0 }, ["top_k(5)", DRAW]],
  ])("%s", (_, sampling, chain) => {
    expect(chainOf(sampling)).toEqual(chain);
  });
});

test.each<[string, Partial<Sampling>]>([
  ["temperature 0", { topK: 5, topP: 0.5, minP: 0.1, topNSigma: 1 }],
  ["Mirostat at temperature 0", { mirostat: mirostat(2), typicalP: 0.5, xtc: XTC, dynamicTemperature: DYNAMIC }],
  ["typical_p and XTC that the order leaves out", { order: ["temperature"], typicalP: 0.5, xtc: XTC }],
])("%s needs no chain", (_, sampling) => {
  expect(chainOf(sampling)).toBeNull();
});
