import type { Dry, DynamicTemperature, Mirostat, Sampling, Xtc } from "../../engine/protocol/sampling.ts";
import { INT32_MAX } from "../../openapi/generation/int32.ts";
import { samplerOrder } from "../../openapi/generation/sampler-order.ts";
import type { SamplingBody } from "../../openapi/generation/sampling-fields.ts";

/** llama-server's defaults. */
const PENALTY_WINDOW = 64;
const XTC_THRESHOLD = 0.1;
const MIROSTAT = { tau: 5, eta: 0.1 };
const DRY = { base: 1.75, allowedLength: 2, window: 64, breakers: ["\n", ":", '"', "*"] };
/** Above it, XTC would never find two tokens. */
const MOST_XTC_THRESHOLD = 0.5;

/** The engine's rules of sampling for a valid body. */
export function samplingOf(body: SamplingBody): Sampling {
  return {
    order: samplerOrder(body.samplers),
    temperature: body.temperature ?? 1,
    dynamicTemperature: dynamicTemperature(body),
    topP: body.top_p ?? 1,
    topK: Math.max(0, body.top_k ?? 0),
    minP: body.min_p ?? 0,
    typicalP: body.typical_p ?? 1,
    topNSigma: Math.max(0, body.top_n_sigma ?? 0),
    minKeep: body.min_keep ?? 0,
    xtc: xtc(body),
    mirostat: mirostat(body),
    frequencyPenalty: body.frequency_penalty ?? 0,
    presencePenalty: body.presence_penalty ?? 0,
    repetitionPenalty: body.repetition_penalty ?? body.repeat_penalty ?? 1,
    penaltyWindow: penaltyWindow(body),
    dry: dry(body),
    logitBias: Object.entries(body.logit_bias ?? {}).map(([token, bias]) => [Number(token), bias]),
    seed: body.seed == null ? null : foldSeed(body.seed),
  };
}

/**
 * Folds an int64 to the uint32 of llama.cpp. The modulus keeps seed + i of all 128 choices below 0xffffffff, which
 * llama.cpp takes as a request for a random seed. Seeds beyond 2^53 have lost their low bits in JSON already.
 */
export function foldSeed(seed: number): number {
  const modulus = 2n ** 32n - 129n;
  return Number(((BigInt(seed) % modulus) + modulus) % modulus);
}

function dynamicTemperature({ dynatemp_range, dynatemp_exponent }: SamplingBody): DynamicTemperature | null {
  const range = dynatemp_range ?? 0;
  return range > 0 ? { range, exponent: dynatemp_exponent ?? 1 } : null;
}

function xtc({ xtc_probability, xtc_threshold }: SamplingBody): Xtc | null {
  const [probability, threshold] = [xtc_probability ?? 0, xtc_threshold ?? XTC_THRESHOLD];
  return probability > 0 && threshold <= MOST_XTC_THRESHOLD ? { probability, threshold } : null;
}

function mirostat({ mirostat, mirostat_tau, mirostat_eta }: SamplingBody): Mirostat | null {
  if (mirostat == null || mirostat === 0) return null;
  return { version: mirostat, tau: mirostat_tau ?? MIROSTAT.tau, eta: mirostat_eta ?? MIROSTAT.eta };
}

function penaltyWindow({ repeat_last_n, repeat_penalty }: SamplingBody): number | null {
  if (repeat_last_n != null) return lastTokens(repeat_last_n);
  return repeat_penalty == null ? null : PENALTY_WINDOW;
}

function dry(body: SamplingBody): Dry | null {
  const multiplier = body.dry_multiplier ?? 0;
  const window = lastTokens(body.dry_penalty_last_n ?? DRY.window);
  if (multiplier === 0 || window === 0) return null;
  return {
    multiplier,
    window,
    base: body.dry_base ?? DRY.base,
    allowedLength: body.dry_allowed_length ?? DRY.allowedLength,
    breakers: body.dry_sequence_breakers ?? DRY.breakers,
  };
}

function lastTokens(count: number): number {
  return count === -1 ? INT32_MAX : count;
}
