/** Fields of a request, by the name of the setting in the table. */
export type Setting = Readonly<Record<string, unknown>>;

/** llama-server's defaults turned off, so that both servers have the same samplers; no answer ends early. */
export const NEUTRAL: Setting = { temperature: 1, top_k: 0, top_p: 1, min_p: 0, ignore_eos: true };

/** Of ordinary tokens in every vocabulary in use; one of two is made likelier, the other impossible. */
const BIASES = Object.fromEntries(Array.from({ length: 64 }, (_, i) => [264 + 3 * i, i % 2 === 0 ? 6 : -100]));

/** Each sampler by itself, and the ways in which they depend on each other. */
export const SETTINGS: Readonly<Record<string, Setting>> = {
  "no sampler": {},
  greedy: { temperature: 0 },
  temperature: { temperature: 0.6 },
  top_k: { top_k: 5 },
  top_p: { top_p: 0.6 },
  min_p: { min_p: 0.2 },
  "top_k, top_p, min_p": { top_k: 20, top_p: 0.9, min_p: 0.05, temperature: 0.8 },
  // llama-server's entropy is NaN where a token has a logit of −∞, as an ignored end token and those below top_n_sigma have.
  typical_p: { typical_p: 0.5, ignore_eos: false },
  "typical_p, greedy": { typical_p: 0.3, temperature: 0, ignore_eos: false },
  top_n_sigma: { top_n_sigma: 1 },
  xtc: { xtc_probability: 0.5, xtc_threshold: 0.1 },
  "xtc, greedy": { xtc_probability: 0.5, xtc_threshold: 0.05, temperature: 0 },
  "top_k 1 behind top_p": { top_p: 0.5, top_k: 1, samplers: ["top_p", "top_k"] },
  "top_k 1 behind min_p": { min_p: 0.3, top_k: 1, samplers: ["min_p", "top_k"] },
  "top_k 1 behind top_n_sigma": { top_n_sigma: 1, top_k: 1, samplers: ["top_n_sigma", "top_k"] },
  "top_k 1 behind typical_p": { typical_p: 0.3, top_k: 1, samplers: ["typ_p", "top_k"], ignore_eos: false },
  "top_k 1 behind xtc": { xtc_probability: 1, xtc_threshold: 0.05, top_k: 1, samplers: ["xtc", "top_k"] },
  "dynamic temperature": { dynatemp_range: 0.8, dynatemp_exponent: 1.5 },
  "dynamic temperature from 0": { temperature: 0, dynatemp_range: 0.5 },
  "mirostat 1": { mirostat: 1, mirostat_tau: 3, mirostat_eta: 0.2, temperature: 0.9 },
  "mirostat 2": { mirostat: 2, mirostat_tau: 3, mirostat_eta: 0.2 },
  "logit_bias, greedy": { logit_bias: BIASES, temperature: 0 },
  logit_bias: { logit_bias: BIASES },
  "repetition_penalty, greedy": { repetition_penalty: 1.3, temperature: 0 },
  repetition_penalty: { repetition_penalty: 1.1 },
  "repeat_penalty, greedy": { repeat_penalty: 1.3, temperature: 0 },
  "presence_penalty, greedy": { presence_penalty: 1.5, repeat_last_n: 64, temperature: 0 },
  "frequency_penalty, greedy": { frequency_penalty: 0.8, repeat_last_n: 64, temperature: 0 },
  "penalties below neutral, greedy": {
    ...{ repeat_penalty: 0.8, frequency_penalty: -0.5, presence_penalty: -0.5, temperature: 0 },
  },
  "three penalties of 16 tokens": {
    ...{ repeat_penalty: 1.1, frequency_penalty: 0.5, presence_penalty: 0.5, repeat_last_n: 16 },
  },
  "biases and penalties, greedy": { logit_bias: BIASES, repeat_penalty: 1.2, presence_penalty: 0.5, temperature: 0 },
  "dry, greedy": { dry_multiplier: 0.8, temperature: 0 },
  dry: { dry_multiplier: 2, dry_base: 1.5, dry_allowed_length: 1, dry_penalty_last_n: 512 },
  "dry with breakers": {
    ...{ dry_multiplier: 1, dry_allowed_length: 1, dry_penalty_last_n: 512, temperature: 0 },
    dry_sequence_breakers: [" ", "ing", "the ", "."],
  },
  "temperature first": { temperature: 1.5, top_p: 0.8, min_p: 0.1, samplers: ["temperature", "min_p", "top_p"] },
  "dry before penalties": {
    ...{ dry_multiplier: 1, dry_allowed_length: 1, repeat_penalty: 1.2, temperature: 0 },
    samplers: ["dry", "penalties", "temperature"],
  },
  "letters, two samplers": { samplers: "kt", top_k: 5, top_p: 0.1, temperature: 1.2 },
  min_keep: { min_keep: 3, top_p: 0.1, temperature: 1.2 },
  "all but typical_p": {
    ...{ repeat_penalty: 1.1, dry_multiplier: 0.8, top_n_sigma: 2, top_k: 40, top_p: 0.95, min_p: 0.02 },
    ...{ xtc_probability: 0.3, dynatemp_range: 0.3, temperature: 0.9 },
  },
  "typical_p with others": {
    ...{ repeat_penalty: 1.1, dry_multiplier: 0.8, top_k: 40, typical_p: 0.9, top_p: 0.95, min_p: 0.02 },
    ...{ xtc_probability: 0.3, temperature: 0.9, ignore_eos: false },
  },
};

/** The fields without the setting's samplers; a setting that leaves one candidate is compared with the greedy answer. */
export function plainFields({ temperature, ...others }: Setting): Setting {
  const { top_k, ignore_eos } = others;
  const kept = Object.keys(others).length === 0 ? 1 : (temperature ?? 1);
  return { temperature: top_k === 1 ? 0 : kept, ...(ignore_eos === undefined ? {} : { ignore_eos }) };
}

/** More tokens than a prompt and its answer have here; llama-server has no value for all of them. */
const PEER_WINDOW = 4096;

/** The fields by which llama-server does the same: it has `repetition_penalty` under another name, with a window. */
export function peerFields({ repetition_penalty, ...fields }: Setting): Setting {
  if (repetition_penalty === undefined) return fields;
  return { ...fields, repeat_penalty: repetition_penalty, repeat_last_n: PEER_WINDOW };
}
