import type { CachedSequence, Reuse } from "../../engine/worker/kv/cached-sequence.ts";
import { HostMemory } from "../../engine/worker/kv/host-memory.ts";
import type { KvMemory } from "../../engine/worker/kv/kv-memory.ts";

export interface FakeEntry {
  sequence: CachedSequence;
  count: number;
}

export interface FakeMemoryOptions {
  kind: "split" | "unified";
  ids: number;
  /** Of each id when split, in all when unified. */
  cells: number;
  /** With `whole` the memory of an id is never copied to another id, and is cut only within its window. */
  reuse?: Reuse;
  window?: number | null;
}

/** The cells that share one buffer: those of one id when split, all when unified. */
interface Stream {
  /** Bookkeeping, changed at once: the ids that hold a cell, and its position. */
  owners: Set<number>[];
  positions: number[];
  /** The content of each cell, changed only by a decode: a hash of the scope, the token and all tokens before it. */
  data: number[];
}

/** What of an id cannot be cut: a hash of all its tokens, as that of a recurrent state, and the first token of its windows. */
interface PartialState {
  length: number;
  hash: number;
  first: number;
}

const EMPTY_PREFIX = 17;
const NO_STATE: PartialState = { length: 0, hash: 0, first: 0 };
/** Bytes of one token in a saved state: position and data. */
const TOKEN_BYTES = 8;

/**
 * Host memory for `tokens` tokens. A copy takes 0.01 ms, a prompt token 1 ms.
 *
 * @param stateBytes bytes of a copy besides its tokens; a million is predicted to take 1 ms
 */
export function hostMemory(tokens: number, reuse: Reuse = "parts", stateBytes = 0): HostMemory {
  let now = 0;
  return new HostMemory({
    bytes: tokens === 0 ? 0 : stateBytes + tokens * TOKEN_BYTES,
    tokenBytes: TOKEN_BYTES,
    stateBytes,
    reuse,
    recomputeMs: (from, to) => 5 + to - from,
    now: () => {
      now += 0.01;
      return now;
    },
  });
}

/** The hash of a scope, before any token. */
function beginning(scope: string): number {
  return [...scope].reduce((prefix, character) => extend(prefix, character.charCodeAt(0)), EMPTY_PREFIX);
}

function extend(prefix: number, token: number): number {
  return (Math.imul(prefix, 0x01000193) ^ (token + 1)) >>> 0;
}

/**
 * llama.cpp's memory as llama-kv-cache.cpp implements it: bookkeeping changes at once, a copy between streams moves its data
 * at the next decode, in the order of the calls. Before each decode it checks that every sequence finds exactly its own first
 * tokens, each computed after exactly the tokens before it and in its own scope.
 */
export class FakeMemory implements KvMemory {
  readonly sharesStates: boolean;
  readonly #options: FakeMemoryOptions;
  readonly #streams: Stream[];
  readonly #copies: { source: Stream; target: Stream }[] = [];
  /** By id, for memory that is reused as a whole. */
  readonly #partial: PartialState[];
  /** Streams that were copied, and cells that were restored from host memory. */
  copied = 0;
  loaded = 0;
  /** Partial states that were restored. */
  restored = 0;

  constructor(options: FakeMemoryOptions) {
    this.#options = options;
    this.sharesStates = options.kind === "unified" && (options.window ?? null) === null;
    this.#partial = new Array<PartialState>(options.ids).fill(NO_STATE);
    this.#streams = Array.from({ length: options.kind === "split" ? options.ids : 1 }, () => ({
      owners: Array.from({ length: options.cells }, () => new Set<number>()),
      positions: new Array<number>(options.cells).fill(-1),
      data: new Array<number>(options.cells).fill(0),
    }));
  }

  /** Cells that some id holds. */
  get used(): number {
    return this.#streams.reduce((sum, { owners }) => sum + owners.filter((ids) => ids.size > 0).length, 0);
  }

  remove(id: number, from: number, to: number): void {
    const { owners, positions } = this.#stream(id);
    if (this.#options.reuse === "whole") this.#cutPartial(id, Math.max(0, from));
    const end = to < 0 ? Number.POSITIVE_INFINITY : to;
    owners.forEach((ids, cell) => {
      if (positions[cell]! >= Math.max(0, from) && positions[cell]! < end) ids.delete(id);
    });
  }

  copy(sourceId: number, targetId: number, from: number, to: number): void {
    if (sourceId === targetId) return;
    if (this.#options.reuse === "whole") this.#copyPartial(sourceId, targetId, to);
    const source = this.#stream(sourceId);
    const target = this.#stream(targetId);
    if (source === target) {
      const end = to < 0 ? Number.POSITIVE_INFINITY : to;
      source.owners.forEach((ids, cell) => {
        const inside = source.positions[cell]! >= Math.max(0, from) && source.positions[cell]! < end;
        if (inside && ids.has(sourceId)) ids.add(targetId);
      });
      return;
    }
    if (from > 0 || to > 0) throw new Error("seq_cp() is only supported for full KV buffers: the process aborts.");
    this.#copies.push({ source, target });
    source.owners.forEach((ids, cell) => {
      target.owners[cell]!.clear();
      if (ids.has(sourceId)) target.owners[cell]!.add(targetId);
      target.positions[cell] = source.positions[cell]!;
    });
  }

  canCut(id: number, length: number): boolean {
    const { window = null } = this.#options;
    return window !== null && this.#partial[id]!.first <= Math.max(0, length - window);
  }

  #copyPartial(source: number, target: number, to: number): void {
    const state = this.#partial[source]!;
    if (!this.sharesStates) throw new Error("The memory of an id is not copied to another one.");
    if (to >= 0 && to !== state.length) throw new Error(`The state of id ${source} cannot be copied at ${to}.`);
    this.#partial[target] = state;
  }

  #cutPartial(id: number, length: number): void {
    const state = this.#partial[id]!;
    if (length === 0) this.#partial[id] = NO_STATE;
    if (length === 0 || state.length <= length) return;
    if (!this.canCut(id, length)) throw new Error(`The memory of id ${id} cannot be cut at ${length}.`);
    this.#partial[id] = { length, hash: this.#hashAt(id, length), first: state.first };
  }

  /** The hash of the first `length` tokens of an id. */
  #hashAt(id: number, length: number): number {
    const { owners, positions, data } = this.#stream(id);
    return data[owners.findIndex((ids, cell) => ids.has(id) && positions[cell] === length - 1)]!;
  }

  moving(id: number): boolean {
    const stream = this.#stream(id);
    return (
      this.#streams.length > 1 && this.#copies.some(({ source, target }) => source === stream || target === stream)
    );
  }

  save(id: number): Uint8Array | null {
    const stream = this.#stream(id);
    if (this.moving(id)) return null;
    const cells = stream.owners.flatMap((ids, cell) =>
      ids.has(id) ? [stream.positions[cell]!, stream.data[cell]!] : [],
    );
    return new Uint8Array(Uint32Array.from(cells).buffer);
  }

  load(id: number, state: Uint8Array): boolean {
    const stream = this.#stream(id);
    if (this.moving(id)) throw new Error("A state was loaded into an id that is moving: it would be lost.");
    this.remove(id, -1, -1);
    const cells = new Uint32Array(state.buffer);
    for (let i = 0; i < cells.length; i += 2) {
      const cell = stream.owners.findIndex((ids) => ids.size === 0);
      if (cell < 0) throw new Error("A state was loaded where there is no room for it.");
      stream.owners[cell]!.add(id);
      stream.positions[cell] = cells[i]!;
      stream.data[cell] = cells[i + 1]!;
    }
    this.loaded += cells.length / 2;
    this.#follow(id, cells.length / 2);
    return true;
  }

  savePartial(id: number): Uint8Array | null {
    const { length, hash, first } = this.#partial[id]!;
    return new Uint8Array(Uint32Array.of(length, hash, first).buffer);
  }

  partialBytes(): number {
    return 3 * Uint32Array.BYTES_PER_ELEMENT;
  }

  loadPartial(id: number, state: Uint8Array): boolean {
    const [length, hash, first] = new Uint32Array(state.buffer) as unknown as [number, number, number];
    this.#partial[id] = { length, hash, first };
    this.restored++;
    return true;
  }

  decode(entries: readonly FakeEntry[]): void {
    for (const { source, target } of this.#copies.splice(0)) {
      target.data.splice(0, target.data.length, ...source.data);
      this.copied++;
    }
    for (const { sequence } of entries) this.#check(sequence);
    for (const { sequence, count } of entries) this.#write(sequence, count);
  }

  #check({ id, tokens, computed, scope }: CachedSequence): void {
    const { owners, positions, data } = this.#stream(id);
    const byPosition = new Map<number, number>();
    owners.forEach((ids, cell) => {
      if (!ids.has(id)) return;
      if (byPosition.has(positions[cell]!)) throw new Error(`Id ${id} holds position ${positions[cell]} twice.`);
      byPosition.set(positions[cell]!, data[cell]!);
    });
    if (byPosition.size !== computed) throw new Error(`Id ${id} holds ${byPosition.size} positions, not ${computed}.`);
    this.#checkPartial(id, computed);
    let prefix = beginning(scope);
    for (let position = 0; position < computed; position++) {
      prefix = extend(prefix, tokens[position]!);
      if (byPosition.get(position) !== prefix) throw new Error(`Id ${id} holds a wrong prefix at ${position}.`);
    }
  }

  #checkPartial(id: number, computed: number): void {
    if (this.#options.reuse !== "whole" || computed === 0) return;
    const { length, hash } = this.#partial[id]!;
    if (length !== computed) throw new Error(`Id ${id} has the state of ${length} tokens, not ${computed}.`);
    if (hash !== this.#hashAt(id, computed)) throw new Error(`Id ${id} has the state of other tokens.`);
  }

  /**
   * The partial state after the first `length` tokens. llama.cpp overwrites cells behind the window when it needs them: here,
   * all but one more window.
   */
  #follow(id: number, length: number): void {
    const first = Math.max(this.#partial[id]!.first, length - 2 * (this.#options.window ?? 0));
    this.#partial[id] = { length, hash: this.#hashAt(id, length), first };
  }

  #write({ id, tokens, computed, scope }: CachedSequence, count: number): void {
    const stream = this.#stream(id);
    let prefix = tokens.slice(0, computed).reduce(extend, beginning(scope));
    let cell = -1;
    for (let position = computed; position < computed + count; position++) {
      cell = stream.owners.findIndex((ids, index) => index > cell && ids.size === 0);
      if (cell < 0) throw new Error("llama_decode returned 1: there is no room for the batch.");
      prefix = extend(prefix, tokens[position]!);
      stream.owners[cell]!.add(id);
      stream.positions[cell] = position;
      stream.data[cell] = prefix;
    }
    this.#follow(id, computed + count);
  }

  #stream(id: number): Stream {
    if (!(Number.isInteger(id) && id >= 0 && id < this.#options.ids)) throw new Error(`There is no id ${id}.`);
    return this.#streams[this.#options.kind === "split" ? id : 0]!;
  }
}
