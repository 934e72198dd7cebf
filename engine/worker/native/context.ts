import koffi from "koffi";
import type { EngineConfig } from "../../protocol/config.ts";
import type { Adapters } from "./adapters.ts";
import { DecodeBatch } from "./decode-batch.ts";
import { FLASH_ATTENTION } from "./flash-attention.ts";
import type { Llama } from "./library/bindings.ts";
import { call } from "./library/ffi-call.ts";
import type { Library } from "./library/library.ts";
import type { Pointer } from "./library/structs.ts";
import type { MemoryPlan } from "./memory-plan.ts";
import type { Model } from "./model.ts";
import { NativeMemory } from "./native-memory.ts";
import { argmax } from "./sampling/argmax.ts";
import type { Sampler } from "./sampling/sampler.ts";
import { MOST_SCORED } from "./sampling/scored-rows.ts";

/** enum ggml_type */
export const CACHE_TYPES = { f32: 0, f16: 1, q4_0: 2, q4_1: 3, q5_0: 6, q5_1: 7, q8_0: 8, bf16: 30 } as const;
/** Tokens of a vocabulary below which drawing a token costs less than a call on another thread. */
const PARALLEL_VOCABULARY = 16_384;
/** Cached views of logit rows. */
const MOST_ROW_VIEWS = 1024;

/** llama.cpp's answers to a decode that did not succeed (llama.h). */
const NO_ROOM = 1;

export class DecodeError extends Error {
  override readonly name = "DecodeError";
  /** True when the cache had no cells for the batch: fewer tokens, or fewer sequences, may succeed. */
  readonly noRoom: boolean;

  constructor(status: number) {
    super(`llama_decode returned ${status}.`);
    this.noRoom = status === NO_ROOM;
  }
}

/**
 * One llama_context: the batch of a step, its decode, its logits. While a decode runs no other method may be called.
 */
export class Context {
  readonly batch: DecodeBatch;
  readonly memory: NativeMemory;
  /** Cells of one sequence (of the whole cache, when it is unified). */
  readonly sequenceCells: number;
  readonly #llama: Llama;
  readonly #context: Pointer;
  readonly #vocabulary: number;
  readonly #gpu: boolean;
  readonly #rows = new Map<bigint, Float32Array>();

  constructor(
    library: Library,
    model: Model,
    adapters: Adapters,
    config: Pick<EngineConfig, "model" | "stepTokens" | "flashAttention" | "cacheTypeK" | "cacheTypeV">,
    plan: Pick<MemoryPlan, "kv" | "cells" | "ids">,
    threads: number,
  ) {
    this.#llama = library.llama;
    const pointer = library.llama.llama_init_from_model(model.pointer, {
      ...library.llama.llama_context_default_params(),
      n_ctx: plan.cells,
      // One call of llama_decode is one graph, so that no wait is longer than a step.
      n_batch: config.stepTokens,
      n_ubatch: config.stepTokens,
      n_seq_max: plan.ids,
      // Fewer rows than ids abort the process; the default reserves n_batch rows of the whole vocabulary.
      n_outputs_max: plan.ids + MOST_SCORED,
      n_threads: threads,
      n_threads_batch: threads,
      flash_attn_type: FLASH_ATTENTION[config.flashAttention],
      type_k: CACHE_TYPES[config.cacheTypeK],
      type_v: CACHE_TYPES[config.cacheTypeV],
      no_perf: true,
      swa_full: false,
      kv_unified: plan.kv === "unified",
    });
    if (!pointer) {
      const reason = library.complaints().at(-1) ?? "llama.cpp gave no reason";
      throw new Error(`The context of ${config.model} could not be made: ${reason}. A lower --context may fit.`);
    }
    this.#context = pointer;
    adapters.apply(library.llama, pointer);
    this.#vocabulary = model.vocabulary.size;
    this.#gpu = model.devices.some((device) => device.kind === "gpu");
    this.memory = new NativeMemory(library.llama, pointer, plan.kv === "split", model);
    this.sequenceCells = library.llama.llama_n_ctx_seq(pointer);
    this.batch = new DecodeBatch(config.stepTokens);
  }

  /** Computes the batch on another thread. @throws DecodeError */
  async decode(): Promise<void> {
    const status = await call(this.#llama.llama_decode, this.#context, this.batch.struct);
    if (status !== 0) throw new DecodeError(status);
    this.memory.decoded();
    // A GPU may still compute: without this call the first access to the logits would block the JavaScript thread.
    if (this.#gpu) await call(this.#llama.llama_synchronize, this.#context);
  }

  /** Draws a token for each row. @returns tokens in the order of the rows */
  async sample(samplers: Sampler[], rows: number[]): Promise<number[]> {
    const { llama_sampler_sample: sample, llama_get_logits_ith: access } = this.#llama;
    const chains = samplers.reduce((count, { chain }) => count + (chain === null ? 0 : 1), 0);
    const parallel = chains > 1 && this.#vocabulary >= PARALLEL_VOCABULARY;
    // The first access to the logits reorders them, which is not safe on several threads at once.
    if (parallel) access(this.#context, rows[0]!);
    const draws = samplers.map(({ chain }, i) => {
      if (chain === null) return null;
      return parallel ? call(sample, chain, this.#context, rows[i]!) : sample(chain, this.#context, rows[i]!);
    });
    // Greedy rows, while other threads draw the others.
    return Promise.all(draws.map((draw, i) => draw ?? argmax(this.logits(rows[i]!))));
  }

  /** Frees its memory; no method may be called after it. */
  free(): void {
    this.#llama.llama_free(this.#context);
  }

  /** A row's logits in llama.cpp's own memory: valid until the next decode; sampling sees changes to them. */
  logits(row: number): Float32Array {
    const address = this.#llama.llama_get_logits_ith(this.#context, row);
    if (address === null) throw new Error(`Row ${row} has no logits.`);
    let view = this.#rows.get(address);
    if (view === undefined) {
      // The rows lie in one buffer that seldom moves, so the same addresses recur.
      if (this.#rows.size > MOST_ROW_VIEWS) this.#rows.clear();
      view = new Float32Array(koffi.view(address, this.#vocabulary * 4));
      this.#rows.set(address, view);
    }
    return view;
  }
}
