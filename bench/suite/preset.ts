import { availableParallelism } from "node:os";
import type { LineShape } from "./load/batch-work.ts";

/** Sizes of the scenarios, for a small machine and for a GPU. */
export interface Preset {
  name: "cpu" | "gpu";
  /** Shape of the model, from bench/models/shapes.ts. */
  shape: string;
  /** Concurrent sequences of every server, and the longest request in tokens. */
  sequences: number;
  context: number;
  /** Compute threads of every server; null where the GPU computes. */
  threads: number | null;
  /** Concurrent clients of a capacity measurement. */
  clients: number;
  /** Divisor of the traffic's lengths. */
  lengthDivisor: number;
  throughput: { levels: number[]; prompt: number; tokens: number };
  survivors: { long: number; short: number; longTokens: number; shortTokens: number };
  longPrompt: { decoders: number; prompt: number; everyMs: number; times: number };
  sharedPrefix: { requests: number; shared: number; private: number };
  shifts: { seconds: number; settleMs: number; line: LineShape };
  headOfLine: { arrivals: number; seconds: number; prompt: number; tokens: number };
  groupedBatch: { lines: number; shared: number; private: number; tokens: number };
  parking: { line: LineShape; bursts: number; everyMs: number };
  overload: { factor: number; seconds: number };
}

export const PRESETS: Record<Preset["name"], Preset> = {
  /** Steps of a few milliseconds, as of a real model on a GPU, on any CPU. */
  cpu: {
    name: "cpu",
    shape: "30m",
    sequences: 64,
    context: 2304,
    threads: Math.max(1, availableParallelism() - 1),
    clients: 32,
    lengthDivisor: 16,
    throughput: { levels: [1, 8, 32, 64], prompt: 64, tokens: 64 },
    survivors: { long: 8, short: 24, longTokens: 160, shortTokens: 24 },
    longPrompt: { decoders: 8, prompt: 2048, everyMs: 5000, times: 2 },
    sharedPrefix: { requests: 64, shared: 256, private: 12 },
    shifts: { seconds: 45, settleMs: 2000, line: { prompt: 64, tokens: 32 } },
    headOfLine: { arrivals: 200, seconds: 30, prompt: 16, tokens: 4 },
    groupedBatch: { lines: 48, shared: 512, private: 16, tokens: 16 },
    parking: { line: { prompt: 128, tokens: 64 }, bursts: 4, everyMs: 2000 },
    overload: { factor: 2, seconds: 10 },
  },
  /**
   * The cells of 64 sequences of 2,560 tokens take 21 GB with this shape, and three servers with weights 90 GB. A
   * smaller GPU needs a smaller model by `--gguf`.
   */
  gpu: {
    name: "gpu",
    shape: "8b",
    sequences: 64,
    context: 2560,
    threads: null,
    clients: 64,
    lengthDivisor: 4,
    throughput: { levels: [1, 8, 32, 64], prompt: 256, tokens: 128 },
    survivors: { long: 8, short: 24, longTokens: 512, shortTokens: 32 },
    longPrompt: { decoders: 8, prompt: 2400, everyMs: 5000, times: 3 },
    sharedPrefix: { requests: 64, shared: 2048, private: 100 },
    shifts: { seconds: 40, settleMs: 4000, line: { prompt: 256, tokens: 128 } },
    headOfLine: { arrivals: 200, seconds: 40, prompt: 64, tokens: 8 },
    groupedBatch: { lines: 1000, shared: 1000, private: 100, tokens: 32 },
    parking: { line: { prompt: 512, tokens: 512 }, bursts: 4, everyMs: 3000 },
    overload: { factor: 2, seconds: 30 },
  },
};
