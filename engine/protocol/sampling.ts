import type { SamplerName } from "../../openapi/generation/sampler-order.ts";

/** The rules by which a sequence's tokens are drawn. */
export interface Sampling {
  /** The samplers that are used, in order; `penalties` and `dry` are before all others. */
  order: readonly SamplerName[];
  /** 0 is greedy. */
  temperature: number;
  /** The temperature follows the entropy in `temperature` ± `range`; null: it does not. */
  dynamicTemperature: DynamicTemperature | null;
  topP: number;
  /** 0 is off. */
  topK: number;
  minP: number;
  /** 1 is off. */
  typicalP: number;
  /** 0 is off. */
  topNSigma: number;
  /** Tokens that a truncating sampler keeps at least. */
  minKeep: number;
  /** Null is off. */
  xtc: Xtc | null;
  /** Takes the place of all samplers but penalties, DRY and temperature. */
  mirostat: Mirostat | null;
  /** Without a window these two count the generated text alone. */
  frequencyPenalty: number;
  presencePenalty: number;
  /** Without a window it counts prompt and generated text; 1 is off. */
  repetitionPenalty: number;
  /** Last tokens of prompt and generated text that all three penalties count; null: each counts as described above. */
  penaltyWindow: number | null;
  /** Null is off. */
  dry: Dry | null;
  logitBias: [token: number, bias: number][];
  /** Choice i of a request samples with seed + i; null draws one at random. */
  seed: number | null;
}

export interface DynamicTemperature {
  /** Above 0. */
  range: number;
  exponent: number;
}

/** Excludes the likeliest tokens but the last one above the threshold, at a share of the positions. */
export interface Xtc {
  /** Above 0. */
  probability: number;
  /** At most 0.5. */
  threshold: number;
}

export interface Mirostat {
  version: 1 | 2;
  /** Target entropy in bits. */
  tau: number;
  /** Learning rate. */
  eta: number;
}

/** The penalty of tokens that continue a repetition: multiplier × base ^ (repeated tokens − allowed length). */
export interface Dry {
  /** Above 0. */
  multiplier: number;
  base: number;
  /** Repeated tokens from which on the next is penalized. */
  allowedLength: number;
  /** Last tokens in which repetitions are found. */
  window: number;
  /** Texts that no repetition extends across. */
  breakers: readonly string[];
}
