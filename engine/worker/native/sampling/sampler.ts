import type { SamplerName } from "../../../../openapi/generation/sampler-order.ts";
import type { Sampling } from "../../../protocol/sampling.ts";
import type { Llama } from "../library/bindings.ts";
import type { Pointer } from "../library/structs.ts";

/** Candidates from which Mirostat estimates the slope of the distribution; the value of llama-server. */
const MIROSTAT_CANDIDATES = 100;
/**
 * A share of the highest probability. The entropy of llama.cpp's typical sampler, and the slope of Mirostat, are NaN when a
 * candidate's probability is 0 as a float; without candidates below this share, both are otherwise the same.
 */
const LEAST_SHARE = 1e-30;

/** Draws one sequence's tokens from rows of logits. Must be freed. */
export class Sampler {
  /** llama.cpp's chain; null draws the highest logit, for which no chain is needed (argmax.ts). */
  readonly chain: Pointer;
  readonly #llama: Llama;

  /**
   * By default truncation comes before temperature, as in llama.cpp: with top_p 0.9 the nucleus is that of the model's own
   * distribution. Penalties, DRY and biases are not in the chain: they change few tokens, and are written into the logits
   * before.
   *
   * The chain's state (random numbers, Mirostat's mean) advances with every draw. It belongs to the sequence, so a
   * preemption does not change it.
   */
  constructor(llama: Llama, sampling: Sampling, { seed, vocabulary }: { seed: number; vocabulary: number }) {
    this.#llama = llama;
    this.chain = isGreedy(sampling) ? null : llama.llama_sampler_chain_init({ no_perf: true });
    if (this.chain === null) return;
    const samplers = sampling.mirostat === null ? truncating(llama, sampling, seed) : temperature(llama, sampling);
    for (const sampler of [...samplers, ...drawing(llama, sampling, seed, vocabulary)]) {
      llama.llama_sampler_chain_add(this.chain, sampler);
    }
  }

  free(): void {
    if (this.chain !== null) this.#llama.llama_sampler_free(this.chain);
  }
}

/** True where the drawn token is always that of the highest logit. Typical sampling and XTC may exclude it. */
function isGreedy({ order, temperature, dynamicTemperature, mirostat, typicalP, xtc }: Sampling): boolean {
  if (temperature > 0 || !order.includes("temperature")) return false;
  if (mirostat !== null) return true;
  const excludes = (typicalP < 1 && order.includes("typ_p")) || (xtc !== null && order.includes("xtc"));
  return dynamicTemperature === null && !excludes;
}

function truncating(llama: Llama, sampling: Sampling, seed: number): Pointer[] {
  const { topK, topP, minP, typicalP, topNSigma, minKeep, xtc } = sampling;
  const made: Record<SamplerName, () => Pointer[]> = {
    penalties: () => [],
    dry: () => [],
    top_n_sigma: () => (topNSigma > 0 ? [llama.llama_sampler_init_top_n_sigma(topNSigma)] : []),
    top_k: () => (topK > 0 ? [llama.llama_sampler_init_top_k(topK)] : []),
    typ_p: () => (typicalP < 1 ? [possible(llama), llama.llama_sampler_init_typical(typicalP, minKeep)] : []),
    top_p: () => (topP < 1 ? [llama.llama_sampler_init_top_p(topP, minKeep)] : []),
    min_p: () => (minP > 0 ? [llama.llama_sampler_init_min_p(minP, minKeep)] : []),
    xtc: () => (xtc === null ? [] : [llama.llama_sampler_init_xtc(xtc.probability, xtc.threshold, minKeep, seed)]),
    temperature: () => temperature(llama, sampling),
  };
  return sampling.order.flatMap((name) => made[name]());
}

function temperature(llama: Llama, { order, mirostat, temperature, dynamicTemperature }: Sampling): Pointer[] {
  if (!order.includes("temperature")) return [];
  if (dynamicTemperature !== null && mirostat === null) {
    const { range, exponent } = dynamicTemperature;
    return [llama.llama_sampler_init_temp_ext(temperature, range, exponent)];
  }
  return temperature === 1 ? [] : [llama.llama_sampler_init_temp(temperature)];
}

function drawing(llama: Llama, { mirostat }: Sampling, seed: number, vocabulary: number): Pointer[] {
  if (mirostat === null) return [llama.llama_sampler_init_dist(seed)];
  const { version, tau, eta } = mirostat;
  if (version === 2) return [llama.llama_sampler_init_mirostat_v2(seed, tau, eta)];
  return [possible(llama), llama.llama_sampler_init_mirostat(vocabulary, seed, tau, eta, MIROSTAT_CANDIDATES)];
}

function possible(llama: Llama): Pointer {
  return llama.llama_sampler_init_min_p(LEAST_SHARE, 1);
}
