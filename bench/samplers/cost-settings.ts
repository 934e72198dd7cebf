import type { Setting } from "./settings.ts";

const BIASES = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [264 + 2 * i, -5]));

/**
 * Usual values of each sampler. Samplers that write logits of single tokens are measured on greedy requests, all others
 * on drawn ones.
 */
export const COST_SETTINGS: Readonly<Record<string, Setting>> = {
  greedy: { temperature: 0 },
  temperature: { temperature: 0.8 },
  top_k: { top_k: 40 },
  top_p: { top_p: 0.95 },
  min_p: { min_p: 0.05 },
  // without ignored end tokens, for the reason in settings.ts
  typical_p: { typical_p: 0.95, ignore_eos: false },
  top_n_sigma: { top_n_sigma: 1 },
  xtc: { xtc_probability: 0.5, xtc_threshold: 0.1 },
  "dynamic temperature": { dynatemp_range: 0.5 },
  "mirostat 1": { mirostat: 1 },
  "mirostat 2": { mirostat: 2 },
  "logit_bias of 100 tokens": { temperature: 0, logit_bias: BIASES },
  repetition_penalty: { temperature: 0, repetition_penalty: 1.1 },
  "repeat_penalty of 64 tokens": { temperature: 0, repeat_penalty: 1.1 },
  presence_penalty: { temperature: 0, presence_penalty: 0.5 },
  frequency_penalty: { temperature: 0, frequency_penalty: 0.5 },
  "dry of 64 tokens": { temperature: 0, dry_multiplier: 0.8 },
  "dry of 1,024 tokens": { temperature: 0, dry_multiplier: 0.8, dry_penalty_last_n: 1024 },
  "top_k, top_p, min_p, temperature": { top_k: 40, top_p: 0.95, min_p: 0.05, temperature: 0.8 },
  "the same, temperature first": {
    ...{ top_k: 40, top_p: 0.95, min_p: 0.05, temperature: 0.8 },
    samplers: ["temperature", "top_p", "min_p", "top_k"],
  },
  "all samplers": {
    ...{ repeat_penalty: 1.1, presence_penalty: 0.5, frequency_penalty: 0.5, dry_multiplier: 0.8, top_n_sigma: 2 },
    ...{ top_k: 40, typical_p: 0.95, top_p: 0.95, min_p: 0.05, xtc_probability: 0.5, dynatemp_range: 0.3 },
    ...{ temperature: 0.8, ignore_eos: false },
  },
};

/** The request without the setting's samplers: greedy where the setting's own effect is on greedy requests. */
export function costBaseline(setting: Setting): Setting {
  const { temperature, ignore_eos, ...others } = setting;
  return {
    ...(temperature === 0 && Object.keys(others).length > 0 ? { temperature } : {}),
    ...(ignore_eos === undefined ? {} : { ignore_eos }),
  };
}
