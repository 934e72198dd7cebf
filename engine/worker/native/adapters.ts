import { statSync } from "node:fs";
import { basename } from "node:path";
import type { Adapter } from "../../protocol/config.ts";
import type { Llama } from "./library/bindings.ts";
import { call } from "./library/ffi-call.ts";
import type { Library } from "./library/library.ts";
import type { Pointer } from "./library/structs.ts";
import type { Model } from "./model.ts";

/** Loaded adapters, for contexts of the model that they were loaded for. They are freed with the model. */
export class Adapters {
  /** Bytes of their files, which is their size in memory. */
  readonly bytes: number;
  readonly #pointers: bigint[];
  readonly #scales: number[];

  constructor(bytes: number, pointers: bigint[], scales: number[]) {
    this.bytes = bytes;
    this.#pointers = pointers;
    this.#scales = scales;
  }

  /** Sets the adapters for every later decode of the context. */
  apply(llama: Llama, context: Pointer): void {
    const count = this.#pointers.length;
    if (count === 0) return;
    const pointers = BigUint64Array.from(this.#pointers);
    const status = llama.llama_set_adapters_lora(context, pointers, count, Float32Array.from(this.#scales));
    if (status !== 0) throw new Error(`The adapters could not be set: llama_set_adapters_lora returned ${status}.`);
  }
}

/** @throws Error with llama.cpp's message when a file is no adapter, or an adapter of another model */
export async function loadAdapters(library: Library, model: Model, adapters: readonly Adapter[]): Promise<Adapters> {
  const pointers: bigint[] = [];
  let bytes = 0;
  for (const { path } of adapters) {
    pointers.push(await loadAdapter(library, model, path));
    bytes += statSync(path).size;
  }
  const scales = adapters.map(({ scale }) => scale);
  return new Adapters(bytes, pointers, scales);
}

async function loadAdapter(library: Library, model: Model, path: string): Promise<bigint> {
  const { llama } = library;
  const pointer = await call(llama.llama_adapter_lora_init, model.pointer, path);
  const failure = (why: string) =>
    new Error(`The adapter ${basename(path)} can't be put on this ${model.architecture} model: ${why}.`);
  if (pointer === null) {
    const complaint = library.complaints().at(-1) ?? "llama.cpp gave no reason";
    throw failure(complaint.replace(/^\w+: (failed to apply lora adapter: )?/, ""));
  }
  // A token in the middle of a sequence would have to activate it.
  if (Number(llama.llama_adapter_get_alora_n_invocation_tokens(pointer)) > 0) {
    throw failure("it is an activated LoRA, which is not supported");
  }
  return pointer;
}
