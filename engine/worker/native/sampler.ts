import type { Sampling } from "../../protocol.ts";
import type { Llama, Pointer } from "./bindings.ts";

/** llama.cpp's chain of one sequence: draws a token from a row of logits. Must be freed. */
export class Sampler {
  readonly chain: Pointer;
  readonly #llama: Llama;

  /**
   * Truncation comes before temperature, as in llama.cpp: with top_p 0.9 the nucleus is that of the model's own
   * distribution. Penalties and biases are not here: they touch few tokens, and are written into the logits beforehand.
   */
  constructor(llama: Llama, sampling: Sampling, seed: number) {
    this.#llama = llama;
    this.chain = llama.llama_sampler_chain_init({ no_perf: true });
    const add = (sampler: Pointer) => llama.llama_sampler_chain_add(this.chain, sampler);
    if (sampling.temperature === 0) {
      add(llama.llama_sampler_init_greedy());
      return;
    }
    if (sampling.topK > 0) add(llama.llama_sampler_init_top_k(sampling.topK));
    if (sampling.topP < 1) add(llama.llama_sampler_init_top_p(sampling.topP, 1));
    if (sampling.minP > 0) add(llama.llama_sampler_init_min_p(sampling.minP, 1));
    if (sampling.temperature !== 1) add(llama.llama_sampler_init_temp(sampling.temperature));
    add(llama.llama_sampler_init_dist(seed));
  }

  free(): void {
    this.#llama.llama_sampler_free(this.chain);
  }
}
