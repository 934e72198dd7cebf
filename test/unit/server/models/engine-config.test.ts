import { expect, it } from "vitest";
import { engineConfig } from "../../../../server/models/engine-config.ts";
import type { ENGINE_OPTIONS } from "../../../../server/options/engine-options.ts";
import { resolveOptions } from "../../../../server/options/read.ts";
import { OPTIONS } from "../../../../server/options/table.ts";

const MODEL = { name: "demo", path: "demo.gguf", adapters: [] };

/** A value of each option of the engine that is not its default. */
const OTHER = {
  kv: "split",
  cells: "1024",
  cacheTypeK: "q8_0",
  cacheTypeV: "q8_0",
  cacheScope: "global",
  flashAttention: "off",
  calibration: "off",
  memory: "1GiB",
  parkMemory: "1GiB",
  reasoningBudget: "7",
  threads: "3",
  gpu: "off",
  splitMode: "row",
  stepTokens: "64",
  llamaDir: "build",
  sloTtftMs: "700",
  sloItlMs: "70",
  batchTax: "0.2",
  batchStepMs: "9",
  engineTimeout: "7",
} satisfies Record<Exclude<keyof typeof ENGINE_OPTIONS, "totalMemory">, string>;

function configOf(flags: Record<string, string>) {
  return engineConfig(MODEL, resolveOptions({ flags, env: {}, file: null }), null);
}

it.each(Object.entries(OTHER))("--%s reaches the engine's configuration", (key, value) => {
  expect(configOf({ [key]: value })).not.toEqual(configOf({}));
});

it("has the defaults of the options table", () => {
  const config = configOf({});
  for (const [key, value] of Object.entries(config)) {
    const option = Object.entries(OPTIONS).find(([name]) => name === key);
    if (option !== undefined && !["model", "toolFormat", "chatTemplate"].includes(key))
      expect([key, value]).toEqual([key, option[1].default]);
  }
});
