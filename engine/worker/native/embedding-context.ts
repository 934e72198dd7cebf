import koffi from "koffi";
import { type EngineConfig, POOLINGS } from "../../protocol/config.ts";
import type { Adapters } from "./adapters.ts";
import { CACHE_TYPES, DecodeError } from "./context.ts";
import { DecodeBatch } from "./decode-batch.ts";
import { type EmbeddingPlan, type EmbeddingRoom, MOST_INPUTS } from "./embedding-plan.ts";
import { FLASH_ATTENTION } from "./flash-attention.ts";
import type { Llama } from "./library/bindings.ts";
import { call } from "./library/ffi-call.ts";
import type { Library } from "./library/library.ts";
import type { Pointer } from "./library/structs.ts";
import type { Model } from "./model.ts";

/**
 * A llama_context of its own on the loaded weights, which gives vectors instead of tokens. All inputs of a batch share its
 * cells: they are few at a time, and one pass computes them all.
 */
export class EmbeddingContext {
  readonly batch: DecodeBatch;
  readonly #llama: Llama;
  readonly #context: Pointer;
  readonly #memory: Pointer;
  readonly #width: number;
  readonly #gpu: boolean;

  constructor(
    library: Library,
    model: Model,
    adapters: Adapters,
    config: EngineConfig,
    { width, pooling }: Pick<EmbeddingPlan, "width" | "pooling">,
    room: EmbeddingRoom,
    threads: number,
  ) {
    this.#llama = library.llama;
    this.#width = width;
    this.#gpu = model.devices.some((device) => device.kind === "gpu");
    this.#context = library.llama.llama_init_from_model(model.pointer, {
      ...library.llama.llama_context_default_params(),
      n_ctx: room.cells,
      n_batch: room.tokens,
      n_ubatch: room.tokens,
      n_seq_max: MOST_INPUTS,
      // Every token is an output here.
      n_outputs_max: Math.max(room.tokens, MOST_INPUTS),
      n_threads: threads,
      n_threads_batch: threads,
      flash_attn_type: FLASH_ATTENTION[room.flashAttention],
      type_k: CACHE_TYPES[config.cacheTypeK],
      type_v: CACHE_TYPES[config.cacheTypeV],
      no_perf: true,
      swa_full: false,
      kv_unified: true,
      embeddings: true,
      // llama.cpp's numbers begin with none.
      pooling_type: POOLINGS.indexOf(pooling) + 1,
    });
    if (this.#context === null) throw new Error("llama.cpp could not make a context for embeddings: memory is short.");
    adapters.apply(library.llama, this.#context);
    this.#memory = library.llama.llama_get_memory(this.#context);
    this.batch = new DecodeBatch(room.tokens);
  }

  /** Computes the batch on another thread. @throws DecodeError */
  async decode(): Promise<void> {
    const status = await call(this.#llama.llama_decode, this.#context, this.batch.struct);
    if (status !== 0) throw new DecodeError(status);
    if (this.#gpu) await call(this.#llama.llama_synchronize, this.#context);
  }

  /** A copy of the vector that the last decode made for an id. */
  pooled(id: number): Float32Array {
    const address = this.#llama.llama_get_embeddings_seq(this.#context, id);
    if (address === null) throw new Error(`Sequence ${id} has no vector.`);
    return new Float32Array(koffi.view(address, this.#width * 4)).slice();
  }

  /** Frees the cells of an id. */
  remove(id: number): void {
    // An encoder has no cells.
    if (this.#memory !== null) this.#llama.llama_memory_seq_rm(this.#memory, id, -1, -1);
  }
}
