import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { EngineConfig } from "../../../../../engine/protocol/config.ts";
import {
  cacheBytes,
  type MemoryFacts,
  type MemoryPlan,
  memoryNeeds,
  planMemory,
  planParking,
  SLACK_BYTES,
} from "../../../../../engine/worker/native/memory-plan.ts";

const MIB = 1024 * 1024;
type Asked = Pick<EngineConfig, "context" | "sequences" | "kv" | "cells" | "memory">;
const ASKED: Asked = { context: null, sequences: 32, kv: "auto", cells: null, memory: null };
/** A 0.5B model: 12 KiB a token, so 8,192 tokens are 96 MiB. */
const FACTS: MemoryFacts = {
  trainedContext: 32_768,
  cellBytes: 12 * 1024,
  stateBytes: 0,
  weightBytes: 500 * MIB,
  freeBytes: 64 * 1024 * MIB,
  onGpu: false,
  memory: "full",
};

function plan(asked: Partial<Asked>, facts: Partial<MemoryFacts> = {}): MemoryPlan {
  return planMemory({ ...ASKED, ...asked }, { ...FACTS, ...facts });
}

describe("kind and size of the cache", () => {
  test.each<[string, Partial<Asked>, Partial<MemoryFacts>, MemoryPlan]>([
    ["room for all: split, 8,192 tokens each", {}, {}, { kv: "split", context: 8192, cells: 262_144, ids: 32 }],
    ["a small trained context", {}, { trainedContext: 512 }, { kv: "split", context: 512, cells: 16_384, ids: 32 }],
    [
      "cells of a sequence come in units of 256",
      { context: 1000, sequences: 2 },
      {},
      { kv: "split", context: 1000, cells: 2048, ids: 2 },
    ],
    [
      "half of what is free beside the weights is the cache's",
      {},
      { freeBytes: (756 + 2 * 3072) * MIB },
      { kv: "split", context: 8192, cells: 262_144, ids: 32 },
    ],
    [
      "one byte short: unified, as many cells as there is room for",
      {},
      { freeBytes: (756 + 2 * 3072) * MIB - 1 },
      { kv: "unified", context: 32_768, cells: 261_888, ids: 64 },
    ],
    [
      "less than a context: shorter requests",
      {},
      { freeBytes: (756 + 2 * 24) * MIB },
      { kv: "unified", context: 2048, cells: 2048, ids: 64 },
    ],
    [
      "all of an explicit limit is the cache's",
      { memory: (756 + 3072) * MIB },
      { freeBytes: 0 },
      { kv: "split", context: 8192, cells: 262_144, ids: 32 },
    ],
    [
      "on a GPU: what the model was trained for",
      {},
      { onGpu: true },
      { kv: "split", context: 32_768, cells: 1_048_576, ids: 32 },
    ],
    [
      "on a GPU: at most 32,768 tokens each",
      {},
      { onGpu: true, trainedContext: 131_072 },
      { kv: "split", context: 32_768, cells: 1_048_576, ids: 32 },
    ],
    [
      "on a GPU: as long as there is room for",
      {},
      { onGpu: true, freeBytes: (756 + 2 * 32 * 300) * MIB },
      { kv: "split", context: 25_600, cells: 819_200, ids: 32 },
    ],
    [
      "on a GPU: unified where requests of agents have no room",
      {},
      { onGpu: true, freeBytes: (756 + 2 * 32 * 287) * MIB },
      { kv: "unified", context: 32_768, cells: 262_144, ids: 64 },
    ],
    [
      "split when asked for, on a GPU: usual requests at least",
      { kv: "split" },
      { onGpu: true, freeBytes: 2048 * MIB },
      { kv: "split", context: 8192, cells: 262_144, ids: 32 },
    ],
    ["named cells: unified", { cells: 10_000 }, {}, { kv: "unified", context: 10_240, cells: 10_240, ids: 64 }],
    ["unified by the option", { kv: "unified" }, {}, { kv: "unified", context: 32_768, cells: 262_144, ids: 64 }],
    [
      "unified: cells for one request of the trained context",
      { kv: "unified", sequences: 4 },
      { trainedContext: 131_072 },
      { kv: "unified", context: 131_072, cells: 131_072, ids: 8 },
    ],
    [
      "split when asked for, though memory looks short",
      { kv: "split" },
      { freeBytes: 2048 * MIB },
      { kv: "split", context: 8192, cells: 262_144, ids: 32 },
    ],
    [
      "memory that can't be cut: unified, with two ids for shared prefixes",
      {},
      { memory: "recurrent" },
      { kv: "unified", context: 32_768, cells: 262_144, ids: 34 },
    ],
    [
      "and with none where there is no memory for their states",
      {},
      { memory: "recurrent", stateBytes: 900 * MIB },
      { kv: "unified", context: 32_768, cells: 262_144, ids: 32 },
    ],
    [
      "and with none for windows, whose cells are not shared",
      {},
      { memory: "sliding-window" },
      { kv: "unified", context: 32_768, cells: 262_144, ids: 32 },
    ],
    [
      "at most 256 ids",
      { kv: "unified", sequences: 200, context: 256 },
      {},
      { kv: "unified", context: 256, cells: 51_200, ids: 256 },
    ],
  ])("%s", (_, asked, facts, expected) => {
    expect(plan(asked, facts)).toEqual(expected);
  });
});

describe("an error names the missing memory and the option to change", () => {
  test.each<[string, Partial<Asked>, Partial<MemoryFacts>, string]>([
    [
      "split beyond the limit",
      { kv: "split", memory: 2048 * MIB },
      {},
      "The KV cache would take 3072 MiB and 1292 MiB are there for it: lower --context, --sequences or --kv split.",
    ],
    [
      "a context longer than all cells",
      { cells: 1024, context: 4096 },
      {},
      "The KV cache would take 48 MiB and 12 MiB are there for it: lower --context or raise --cells.",
    ],
    [
      "a context longer than memory holds",
      { context: 8192, memory: (756 + 48) * MIB },
      {},
      "The KV cache would take 96 MiB and 48 MiB are there for it: lower --context.",
    ],
    [
      "named cells beyond the limit",
      { cells: 100_000, memory: 1024 * MIB },
      {},
      "The KV cache would take 1173 MiB and 268 MiB are there for it: lower --cells.",
    ],
    [
      "a limit that the weights alone exceed",
      { memory: 400 * MIB },
      {},
      "The KV cache would take 3 MiB and 0 MiB are there for it: raise --memory.",
    ],
  ])("%s", (_, asked, facts, message) => {
    expect(() => plan(asked, facts)).toThrow(message);
  });
});

test.each<[string, number | null, number, number]>([
  ["an eighth of the free memory", null, 800 * MIB, 100 * MIB],
  ["at most 8 GiB", null, 1024 * 1024 * MIB, 8192 * MIB],
  ["0 without free memory", null, -1, 0],
  ["the option's bytes for any free memory", 5 * MIB, 0, 5 * MIB],
])("host memory for prefixes: %s", (_, parkMemory, left, bytes) => {
  expect(planParking({ parkMemory }, left)).toBe(bytes);
});

describe("the memory needs", () => {
  test("have a least, under which every request of the whole context has a plan", () => {
    const asked = fc.record({
      context: fc.constantFrom(null, 300, 4096, 8192),
      sequences: fc.integer({ min: 1, max: 64 }),
      kv: fc.constantFrom("auto" as const, "split" as const, "unified" as const),
      cells: fc.constantFrom(null, 8192, 10_000),
    });
    const facts = fc.record({
      trainedContext: fc.constantFrom(512, 4096, 32_768),
      cellBytes: fc.oneof(fc.constant(0), fc.double({ min: 1, max: 1e5, noNaN: true })),
      stateBytes: fc.integer({ min: 0, max: 1e7 }),
      weightBytes: fc.integer({ min: 0, max: 1e10 }),
    });
    fc.assert(
      fc.property(asked, facts, (options, model) => {
        const known: MemoryFacts = { ...FACTS, ...model };
        const { least, wanted } = memoryNeeds(options, known, 0);
        expect(wanted).toBeGreaterThanOrEqual(least);
        const made = planMemory({ ...options, memory: least }, known);
        if (options.context !== null) expect(made.context).toBe(options.context);
        else expect(made.context).toBeGreaterThanOrEqual(Math.min(model.trainedContext, 8192));
      }),
    );
  });
});

describe("a model with recurrent layers", () => {
  const hybrid: Partial<MemoryFacts> = { memory: "hybrid", stateBytes: 10 * MIB };

  test("has the cells that its states leave memory for", () => {
    const limit = { memory: 500 * MIB + SLACK_BYTES + 416 * MIB };
    expect(plan(limit, hybrid).cells).toBe((96 * MIB) / FACTS.cellBytes);
    expect(() => plan({ memory: 500 * MIB + SLACK_BYTES + 300 * MIB }, hybrid)).toThrow("lower --sequences");
    expect(plan({ ...limit, sequences: 20 }, hybrid).cells).toBe((216 * MIB) / FACTS.cellBytes);
  });

  test("has ids for shared prefixes within the memory that it wants", () => {
    for (const sequences of [1, 2, 32]) {
      const known = { ...FACTS, ...hybrid };
      const { wanted } = memoryNeeds({ ...ASKED, sequences }, known, 0);
      expect(plan({ sequences, memory: wanted }, hybrid).ids).toBe(sequences + Math.min(2, sequences - 1));
    }
  });

  test("has any context where no layer attends", () => {
    const recurrent: Partial<MemoryFacts> = { memory: "recurrent", cellBytes: 0, stateBytes: MIB };
    const made = plan({ memory: 500 * MIB + SLACK_BYTES + 32 * MIB }, recurrent);
    expect(made).toMatchObject({ kv: "unified", context: 32_768, cells: 8192 * 32 });
    expect(cacheBytes(made, { ...FACTS, ...recurrent })).toBe(32 * MIB);
  });
});
