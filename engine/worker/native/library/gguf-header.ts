import koffi from "koffi";
import type { Gguf } from "./ggml-bindings.ts";
import type { Pointer } from "./structs.ts";

/** Readers by enum gguf_type, for the types of integers and booleans. */
const READERS: Record<number, (data: ArrayBuffer) => ArrayLike<number>> = {
  4: (data) => new Uint32Array(data),
  5: (data) => new Int32Array(data),
  7: (data) => new Uint8Array(data),
};
const ELEMENT_BYTES: Record<number, number> = { 4: 4, 5: 4, 7: 1 };
const ARRAY = 9;

/** The bytes of a tensor, from the beginning of the file. */
export interface TensorPlace {
  offset: number;
  bytes: number;
}

/** The header of a GGUF file, read by ggml: llama.cpp itself gives neither lists of metadata nor tensors' offsets. */
export class GgufHeader {
  /** The size of metadata and the list of tensors; tensors begin after it. */
  readonly bytes: number;
  readonly tensors: readonly TensorPlace[];
  readonly #lists: ReadonlyMap<string, readonly number[]>;

  /** @param keys the lists of integers to read. @throws Error when the file can't be read */
  constructor(gguf: Gguf, path: string, keys: readonly string[]) {
    const pointer = gguf.gguf_init_from_file(path, { no_alloc: true, ctx: null });
    if (pointer === null) throw new Error(`The header of ${path} can't be read.`);
    try {
      const start = Number(gguf.gguf_get_data_offset(pointer));
      this.bytes = start;
      this.tensors = Array.from({ length: Number(gguf.gguf_get_n_tensors(pointer)) }, (_, i) => ({
        offset: start + Number(gguf.gguf_get_tensor_offset(pointer, i)),
        bytes: Number(gguf.gguf_get_tensor_size(pointer, i)),
      }));
      this.#lists = new Map(keys.map((key) => [key, listOf(gguf, pointer, key)]));
    } finally {
      gguf.gguf_free(pointer);
    }
  }

  /** Empty where the file has no such list of integers; it may have one number for all layers instead. */
  list(key: string): readonly number[] {
    return this.#lists.get(key) ?? [];
  }
}

function listOf(gguf: Gguf, pointer: Pointer, key: string): readonly number[] {
  const index = Number(gguf.gguf_find_key(pointer, key));
  if (index < 0 || gguf.gguf_get_kv_type(pointer, index) !== ARRAY) return [];
  const type = gguf.gguf_get_arr_type(pointer, index);
  const count = Number(gguf.gguf_get_arr_n(pointer, index));
  const read = READERS[type];
  if (read === undefined || count === 0) return [];
  return Array.from(read(koffi.view(gguf.gguf_get_arr_data(pointer, index), count * ELEMENT_BYTES[type]!)));
}
