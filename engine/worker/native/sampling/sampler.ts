import type { Sampling } from "../../../protocol/request.ts";
import type { Llama } from "../library/bindings.ts";
import type { Pointer } from "../library/structs.ts";

/** Draws one sequence's tokens from rows of logits. Must be freed. */
export class Sampler {
  /** llama.cpp's chain; null draws the highest logit, for which no chain is needed (argmax.ts). */
  readonly chain: Pointer;
  readonly #llama: Llama;

  /**
   * Truncation comes before temperature, as in llama.cpp: with top_p 0.9 the nucleus is that of the model's own
   * distribution. Penalties and biases are not in the chain: they change few tokens, and are written into the logits before.
   */
  constructor(llama: Llama, sampling: Sampling, seed: number) {
    this.#llama = llama;
    this.chain = sampling.temperature === 0 ? null : llama.llama_sampler_chain_init({ no_perf: true });
    if (this.chain === null) return;
    const add = (sampler: Pointer) => llama.llama_sampler_chain_add(this.chain, sampler);
    if (sampling.topK > 0) add(llama.llama_sampler_init_top_k(sampling.topK));
    if (sampling.topP < 1) add(llama.llama_sampler_init_top_p(sampling.topP, 1));
    if (sampling.minP > 0) add(llama.llama_sampler_init_min_p(sampling.minP, 1));
    if (sampling.temperature !== 1) add(llama.llama_sampler_init_temp(sampling.temperature));
    add(llama.llama_sampler_init_dist(seed));
  }

  free(): void {
    if (this.chain !== null) this.#llama.llama_sampler_free(this.chain);
  }
}
