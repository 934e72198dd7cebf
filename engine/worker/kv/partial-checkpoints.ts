import type { CachedSequence } from "./cached-sequence.ts";
import type { HostCopy } from "./host-copies.ts";
import type { HostMemory } from "./host-memory.ts";
import type { KvMemory } from "./kv-memory.ts";

/** The partial state of an id after its first `length` tokens. */
interface PartialCheckpoint extends HostCopy {
  readonly length: number;
}

/** Fewest tokens between two checkpoints of an id, and the most checkpoints over a prompt. */
const SPACING = 1024;
const MOST = 16;

/**
 * Checkpoints without the keys and values of full attention, which stay in the cells of the id: the windows and recurrent
 * states alone. With one an id can be cut at its position. They are kept in host memory among other copies, and are worthless
 * once the tokens of their id are others.
 */
export class PartialCheckpoints {
  readonly #host: HostMemory;
  readonly #memory: KvMemory;
  /** By id, the shortest first. */
  readonly #byId = new Map<number, PartialCheckpoint[]>();
  /** Bytes of the last copy. */
  #bytes = 0;

  constructor(host: HostMemory, memory: KvMemory) {
    this.#host = host;
    this.#memory = memory;
  }

  /** Whether a copy as large as the last one is faster than computing the tokens in [from, to) again. */
  pays(from: number, to: number): boolean {
    return this.#bytes <= this.#host.copies.bytes && this.#host.isFaster(this.#bytes, from, to);
  }

  /**
   * Copies the partial state of a running sequence, if that pays and there is time in this step.
   *
   * @param spaced only if its last checkpoint is far enough behind
   */
  take({ id, computed, tokens }: CachedSequence, online: boolean, spaced: boolean): void {
    const { copies } = this.#host;
    const known = this.#byId.get(id) ?? [];
    const last = known.at(-1)?.length ?? 0;
    if (computed <= last || (spaced && computed - last < Math.max(SPACING, tokens.length / MOST))) return;
    this.#bytes = this.#memory.partialBytes(id);
    if (!copies.fits("save", this.#bytes, online) || !this.pays(last, computed)) return;
    const state = copies.save(() => this.#memory.savePartial(id));
    if (state === null) return;
    const checkpoint = { length: computed, state };
    this.#byId.set(id, [...known, checkpoint]);
    copies.add(checkpoint, () => this.#remove(id, checkpoint));
  }

  /** The position of the last checkpoint of an id among its first `length` tokens; 0 for none. */
  last(id: number, length: number): number {
    return this.#byId.get(id)?.findLast((checkpoint) => checkpoint.length <= length)?.length ?? 0;
  }

  /** Marks the checkpoint of an id at `length` as used, if there is one. */
  touch(id: number, length: number): void {
    const checkpoint = this.#at(id, length);
    if (checkpoint !== undefined) this.#host.copies.touch(checkpoint);
  }

  /** Takes the partial state of an id back to its checkpoint at `length`, whatever time that takes: all would be computed again. */
  restore(id: number, length: number): boolean {
    const checkpoint = this.#at(id, length);
    if (checkpoint === undefined) return false;
    return this.#host.copies.load(checkpoint, (state) => this.#memory.loadPartial(id, state));
  }

  /** Drops the checkpoints of an id past its first `length` tokens. */
  forget(id: number, length: number): void {
    for (const checkpoint of this.#byId.get(id) ?? [])
      if (checkpoint.length > length) this.#host.copies.drop(checkpoint);
  }

  #at(id: number, length: number): PartialCheckpoint | undefined {
    return this.#byId.get(id)?.find((known) => known.length === length);
  }

  #remove(id: number, checkpoint: PartialCheckpoint): void {
    const left = this.#byId.get(id)!.filter((known) => known !== checkpoint);
    if (left.length === 0) this.#byId.delete(id);
    else this.#byId.set(id, left);
  }
}
