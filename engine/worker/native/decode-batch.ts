import koffi from "koffi";
import type { BatchStruct } from "./library/structs.ts";

/** The tokens of one step: llama_batch over memory that is allocated once and filled through typed arrays. */
export class DecodeBatch {
  readonly capacity: number;
  readonly #token: Int32Array;
  readonly #position: Int32Array;
  readonly #id: Int32Array;
  readonly #output: Int8Array;
  readonly #struct: BatchStruct;
  #size = 0;

  constructor(capacity: number) {
    this.capacity = capacity;
    const token = koffi.alloc("int32", capacity);
    const pos = koffi.alloc("int32", capacity);
    const n_seq_id = koffi.alloc("int32", capacity);
    const ids = koffi.alloc("int32", capacity);
    const seq_id = koffi.alloc("void*", capacity);
    const logits = koffi.alloc("int8", capacity);
    this.#token = new Int32Array(koffi.view(token, capacity * 4));
    this.#position = new Int32Array(koffi.view(pos, capacity * 4));
    this.#id = new Int32Array(koffi.view(ids, capacity * 4));
    this.#output = new Int8Array(koffi.view(logits, capacity));
    new Int32Array(koffi.view(n_seq_id, capacity * 4)).fill(1);
    // seq_id[i] is a list of its own in llama.cpp; here every list has one element, and they lie side by side.
    const lists = new BigUint64Array(koffi.view(seq_id, capacity * 8));
    const first = koffi.address(ids);
    for (let i = 0; i < capacity; i++) lists[i] = first + BigInt(i * 4);
    this.#struct = { n_tokens: 0, token, embd: null, pos, n_seq_id, seq_id, logits };
  }

  get size(): number {
    return this.#size;
  }

  clear(): void {
    this.#size = 0;
  }

  /** @returns the token's row, by which its logits are found after the decode */
  add(token: number, position: number, id: number, output: boolean): number {
    const row = this.#size++;
    this.#token[row] = token;
    this.#position[row] = position;
    this.#id[row] = id;
    this.#output[row] = output ? 1 : 0;
    return row;
  }

  get struct(): BatchStruct {
    this.#struct.n_tokens = this.#size;
    return this.#struct;
  }
}
