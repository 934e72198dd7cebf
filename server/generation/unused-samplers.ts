import { type SamplerName, samplerOrder } from "../../openapi/generation/sampler-order.ts";
import type { SamplingBody } from "../../openapi/generation/sampling-fields.ts";

/** The fields of each sampler. */
const FIELDS = {
  penalties: ["frequency_penalty", "presence_penalty", "repetition_penalty", "repeat_penalty", "repeat_last_n"],
  dry: ["dry_multiplier", "dry_base", "dry_allowed_length", "dry_penalty_last_n", "dry_sequence_breakers"],
  top_n_sigma: ["top_n_sigma"],
  top_k: ["top_k"],
  typ_p: ["typical_p"],
  top_p: ["top_p"],
  min_p: ["min_p"],
  xtc: ["xtc_probability", "xtc_threshold"],
  temperature: ["temperature", "dynatemp_range", "dynatemp_exponent"],
} as const satisfies Record<SamplerName, readonly (keyof SamplingBody)[]>;

const BESIDE_MIROSTAT: readonly SamplerName[] = ["penalties", "dry", "temperature"];
const UNUSED_BY_MIROSTAT = ["dynatemp_range", "dynatemp_exponent", "min_keep"] as const;

/** Given fields of samplers that `samplers` leaves out, or that Mirostat takes the place of. */
export function unusedSamplerFields(body: SamplingBody): string[] {
  const mirostat = body.mirostat != null && body.mirostat !== 0;
  const order = samplerOrder(body.samplers);
  const isUsed = (name: SamplerName) => order.includes(name) && (!mirostat || BESIDE_MIROSTAT.includes(name));
  const names = (Object.keys(FIELDS) as SamplerName[]).filter((name) => !isUsed(name));
  const fields = [...names.flatMap((name) => [...FIELDS[name]]), ...(mirostat ? UNUSED_BY_MIROSTAT : [])];
  return [...new Set(fields)].filter((field) => body[field] != null);
}
