import { describe, expect, it } from "vitest";
import { advise } from "../../../../server/doctor/advice.ts";
import type { Machine } from "../../../../server/doctor/machine.ts";
import { type ModelResult, makeReport, modelText, reportText } from "../../../../server/doctor/report.ts";
import { FACTS } from "../cli/facts.ts";

const machine: Machine = {
  platform: "linux x64 6.1",
  node: "v22.0.0",
  cpu: "Some CPU",
  cores: 4,
  memory: 16e9,
  freeMemory: 12e9,
};

describe("advice", () => {
  it("recommends the tried settings if they are fine", () => {
    expect(advise(FACTS, machine)).toEqual({
      settings: { threads: 3, kv: "split", sequences: 32, context: 8192 },
      notes: [],
    });
  });

  it.each([
    [
      "as many threads as cores",
      { ...FACTS, local: { ...FACTS.local, threads: 4 } },
      machine,
      /4 compute threads on 4 cores.*use 3/,
    ],
    ["a context that memory cut", { ...FACTS, context: 2048 }, machine, /2,048 tokens where the model could use 8,192/],
    ["a plan larger than the memory", FACTS, { ...machine, freeMemory: 1e9 }, /expect swapping/],
    ["a missing template", { ...FACTS, local: { ...FACTS.local, chatTemplate: false } }, machine, /no chat template/],
    ["a single core", { ...FACTS, local: { ...FACTS.local, threads: 1 } }, { ...machine, cores: 1 }, /one core/],
  ])("notes %s", (_, facts, where, note) => {
    expect(advise(facts, where).notes.join("\n")).toMatch(note);
  });
});

describe("report", () => {
  it("shows machine, library, model and memory plan", () => {
    const report = makeReport("1.0.0", machine, [
      { model: "small", ok: true, facts: FACTS, loadMs: 2100, warnings: [] },
    ]);
    const text = reportText(report);
    for (const part of [
      "Some CPU, 4 cores",
      "/lib/llama",
      "llama.cpp 1.2.3",
      "494,032,768 parameters",
      "262,144 cells × 12,288 bytes (split, 32 sequences)",
      "3.75 GB of 12.00 GB",
      "up to 1.00 GB of host memory",
      "flash attention  auto",
      "prefix offload   up to",
      "18 shapes timed at an earlier start; chunks of 64 and more tokens",
      "first token 500 ms, between two tokens 120 ms",
      "All checks passed.",
    ]) {
      expect(text).toContain(part);
    }
  });

  it.each([
    ["the model's own template", {}, "template         from the model file"],
    ["ChatML", { local: { ...FACTS.local, chatTemplate: false } }, "template         none; ChatML is used instead"],
    [
      "the template of a file",
      { local: { ...FACTS.local, templateFile: "./own.jinja" } },
      "template         from ./own.jinja",
    ],
    ["the format of calls", {}, "tool calls       hermes"],
    ["that calls are refused", { takesTools: false }, "tool calls       refused"],
    ["no tags of reasoning", {}, "reasoning        no tags"],
    ["tags", { reasoningTags: { open: "<think>", close: "</think>" } }, "reasoning        <think> … </think>"],
  ])("names %s", (_, changed, shown) => {
    const facts = { ...FACTS, ...changed };
    const lines = modelText({ model: "small", ok: true, facts, loadMs: 1, warnings: [] }, machine);
    expect(lines).toContain(`  ${shown}`);
  });

  it("fails if one of the models failed", () => {
    const good: ModelResult = { model: "small", ok: true, facts: FACTS, loadMs: 1, warnings: ["odd"] };
    const report = makeReport("1.0.0", machine, [good, { model: "bad", ok: false, reason: "not a GGUF\nline two" }]);
    expect(report.ok).toBe(false);
    expect(reportText(report)).toMatch(
      /warning +odd[\s\S]*Model bad: failed\n {2}reason +not a GGUF\n +line two[\s\S]*A check failed: see above[\s\S]*download/,
    );
  });
});
