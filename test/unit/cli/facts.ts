import type { ModelFacts } from "../../../engine/config.ts";

/** A small model on a CPU, as the engine tells it. */
export const FACTS: ModelFacts = {
  model: "small",
  path: "/models/small.gguf",
  description: "llama 0.5B Q8_0",
  architecture: "llama",
  parameters: 494_032_768,
  bytes: 531_000_000,
  trainedContext: 32_768,
  context: 8192,
  sequences: 32,
  kv: "split",
  cells: 262_144,
  cacheBytes: 262_144 * 12_288,
  parkBytes: 1_000_000_000,
  vocabulary: 151_936,
  backend: "cpu",
  devices: ["Some CPU"],
  threads: 3,
  stepTokens: 512,
  memory: "full",
  chatTemplate: true,
  toolFormat: "hermes",
  build: "llama.cpp 1.2.3",
  libraryDir: "/lib/llama",
  fingerprint: "fp_1",
};
