import type { KvKind } from "./config.ts";
import type { Tier } from "./request.ts";
import type { Fit, Objectives } from "./step.ts";

/** Predictions of the step model, in milliseconds and sequences or tokens. */
export interface StepOutlook {
  /** Assumed positions of each sequence, none in common with another. */
  context: number;
  /** Steps of `batch` decodes alone. */
  decodes: { batch: number; ms: number }[];
  /** A step of flex and batch alone is planned to take at most `ms`: the decodes, or the tokens of a new prompt, that fit. */
  alone: { ms: number; decodes: number; prefill: number };
  /** Beside `streams` online streams, which take `onlineMs` alone, a step takes at most `ms`: the further decodes that fit. */
  beside: { streams: number; onlineMs: number; ms: number; decodes: number }[];
}

export interface EngineStatus {
  /** Steps measured since the start: with prompt tokens, and of decodes alone. */
  steps: { prefill: number; decode: number };
  /**
   * Median and mean of |measured − predicted| ÷ measured over recent steps, 0 before the first. `overrun` is the multiple of
   * their prediction that 19 of 20 steps of flex and batch alone stay within.
   */
  error: { median: number; mean: number; overrun: number };
  /** Most tokens of each kind in one step for which the fit holds. */
  reach: { prefill: number; decode: number };
  /** Both null until enough decodes were measured. */
  fit: Fit | null;
  outlook: StepOutlook | null;
  /** The present ones. */
  objectives: Objectives;
  kv: KvKind;
  /** Reserved: cells that flex and batch leave to online work when they start; the same for sequences. */
  cells: { total: number; used: number; reserved: number };
  /** Idle prefixes of ended sequences, for later ones to start from. */
  prefixes: { count: number; cells: number };
  sequences: { total: number; reserved: number };
  /** Sequences. */
  running: Record<Tier, number>;
  waiting: Record<Tier, number>;
}
