import type { KvKind } from "./config.ts";
import type { Tier } from "./request.ts";
import type { Fit, Objectives } from "./step.ts";

/** What the fit says of steps to come, in milliseconds and sequences or tokens. */
export interface StepOutlook {
  /** Positions that each sequence is taken to have, none in common with another. */
  context: number;
  /** Steps of `batch` decodes and nothing else. */
  decodes: { batch: number; ms: number }[];
  /** A step of flex and batch alone is planned to take at most `ms`: so many decodes, or so many tokens of a fresh prompt. */
  alone: { ms: number; decodes: number; prefill: number };
  /** Beside so many online streams, which take `onlineMs` alone, a step takes at most `ms`: so many decodes more. */
  beside: { streams: number; onlineMs: number; ms: number; decodes: number }[];
}

export interface EngineStatus {
  /** Measured since the start: those with prompt tokens, those of decodes alone. */
  steps: { prefill: number; decode: number };
  /**
   * Of |measured − predicted| ÷ measured over the late steps, 0 before the first; and what 19 of 20 steps of flex and batch
   * alone stay within, in multiples of their forecast.
   */
  error: { median: number; mean: number; overrun: number };
  /** Most tokens of each kind in one step for which the fit is believed. */
  reach: { prefill: number; decode: number };
  /** Both null until enough decodes were measured. */
  fit: Fit | null;
  outlook: StepOutlook | null;
  /** As they hold now. */
  objectives: Objectives;
  kv: KvKind;
  /** Reserved: those that flex and batch leave to online work when they start; of sequences too. */
  cells: { total: number; used: number; reserved: number };
  /** What ended sequences left for others to go on from. */
  prefixes: { count: number; cells: number };
  sequences: { total: number; reserved: number };
  /** Sequences. */
  running: Record<Tier, number>;
  waiting: Record<Tier, number>;
}
