import type { StepShape } from "../../engine/worker/cost/step-model.ts";
import type { Reuse } from "../../engine/worker/kv/cached-sequence.ts";
import type { Passes } from "../../engine/worker/scheduler/decode-passes.ts";

/** A cache, and the limits of a scheduler over it. */
export interface SimulationSetup {
  kind: "split" | "unified";
  sequences: number;
  ids: number;
  /** Of each id when split, in all when unified. */
  cells: number;
  copyPrice: number;
  reuse: Reuse;
  /** In a unified cache. */
  passes?: Passes;
  /** Tokens of a window that states reused as a whole can be cut within; null where they cannot. */
  window?: number | null;
  stepTokens: number;
  /** Sequences (and of a unified cache an eighth of the cells) that lower tiers leave free. */
  reserved: number;
  itlMs: number;
  batchTax: number;
  batchStepMs: number | null;
  /** Tokens that host memory has room for; 0 where it is absent. */
  hostTokens?: number;
  /** Bytes of a saved state besides its tokens. */
  stateBytes?: number;
  /** Tokens at the end of a prompt that the next turn of a chat does not have. */
  opening?: number;
}

/** The cost of a simulated step: 5 ms, and 1 ms a token. */
export const COSTS = {
  predict: ({ prefill, decode }: StepShape) => 5 + prefill + decode,
  reach: { prefill: Number.POSITIVE_INFINITY, decode: Number.POSITIVE_INFINITY },
};
