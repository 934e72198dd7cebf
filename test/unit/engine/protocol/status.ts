import type { EngineStatus } from "../../../../engine/protocol/status.ts";

/** Of an engine that has a fit: 8 ms a step and 0.5 a decode. */
export const STATUS: EngineStatus = {
  steps: { prefill: 20, decode: 1200 },
  error: { median: 0.031, mean: 0.05, overrun: 1.1 },
  reach: { prefill: 400, decode: 64 },
  fit: { o: 8, p: 0.05, d: 0.5, k: 0.0001, r: 0.0001, m: 2 },
  outlook: {
    context: 512,
    decodes: Array.from({ length: 10 }, (_, i) => ({ batch: 2 ** i, ms: 8 + 2 ** i / 2 })),
    alone: { ms: 25, decodes: 28, prefill: 300 },
    beside: [{ streams: 8, onlineMs: 12, ms: 13.2, decodes: 2 }],
  },
  objectives: { ttftMs: 500, itlMs: 120 },
  kv: "split",
  cells: { total: 65_536, used: 900, reserved: 8192 },
  prefixes: { count: 3, cells: 700 },
  sequences: { total: 32, reserved: 4 },
  running: { priority: 0, default: 2, flex: 0, batch: 5 },
  waiting: { priority: 0, default: 0, flex: 1, batch: 40 },
};
