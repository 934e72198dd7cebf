import type { Llama } from "./library/bindings.ts";
import type { Pointer } from "./library/structs.ts";
import type { Model } from "./model.ts";

/** Flags of the functions for states (llama.h). */
const WHOLE = 0;
const PARTIAL_ONLY = 1;

/**
 * llama.cpp's memory of one context: the cells of each sequence id. Never called while a decode runs.
 *
 * Where every id has a stream of its own, a copy moves its bytes only at the next decode. Until then the states of both ids
 * can be neither saved nor loaded.
 */
export class NativeMemory {
  readonly sharesStates: boolean;
  readonly #llama: Llama;
  readonly #context: Pointer;
  readonly #memory: Pointer;
  readonly #streams: boolean;
  readonly #window: number | null;
  /** Ids that a pending copy reads or writes. */
  readonly #moving = new Set<number>();

  /**
   * @param streams whether every id has cells of its own
   * @param model its windows
   */
  constructor(
    llama: Llama,
    context: Pointer,
    streams: boolean,
    { window, hasWindows }: Pick<Model, "window" | "hasWindows">,
  ) {
    this.sharesStates = !streams && !hasWindows;
    this.#llama = llama;
    this.#context = context;
    this.#memory = llama.llama_get_memory(context);
    this.#streams = streams;
    this.#window = window;
  }

  remove(id: number, from: number, to: number): void {
    this.#llama.llama_memory_seq_rm(this.#memory, id, from, to);
  }

  copy(source: number, target: number, from: number, to: number): void {
    if (this.#streams) this.#moving.add(source).add(target);
    this.#llama.llama_memory_seq_cp(this.#memory, source, target, from, to);
  }

  canCut(id: number, length: number): boolean {
    if (this.#window === null || this.#moving.has(id)) return false;
    // llama.cpp keeps cells behind a window until it needs them: from this position on, all are there.
    const first = this.#llama.llama_memory_seq_pos_min(this.#memory, id);
    return first <= Math.max(0, length - this.#window);
  }

  moving(id: number): boolean {
    return this.#moving.has(id);
  }

  save(id: number): Uint8Array | null {
    return this.#save(id, WHOLE);
  }

  load(id: number, state: Uint8Array): boolean {
    return this.#load(id, state, WHOLE);
  }

  savePartial(id: number): Uint8Array | null {
    return this.#save(id, PARTIAL_ONLY);
  }

  partialBytes(id: number): number {
    return this.#llama.llama_state_seq_get_size_ext(this.#context, id, PARTIAL_ONLY);
  }

  loadPartial(id: number, state: Uint8Array): boolean {
    return this.#load(id, state, PARTIAL_ONLY);
  }

  /** A decode has completed the pending copies. */
  decoded(): void {
    this.#moving.clear();
  }

  #save(id: number, flags: number): Uint8Array | null {
    if (this.#moving.has(id)) return null;
    const size = this.#llama.llama_state_seq_get_size_ext(this.#context, id, flags);
    const state = Buffer.allocUnsafeSlow(size);
    const written = this.#llama.llama_state_seq_get_data_ext(this.#context, state, size, id, flags);
    return size > 0 && written === size ? state : null;
  }

  #load(id: number, state: Uint8Array, flags: number): boolean {
    if (this.#moving.has(id)) return false;
    return this.#llama.llama_state_seq_set_data_ext(this.#context, state, state.length, id, flags) > 0;
  }
}
