import type { Automaton, State } from "./automaton.ts";

/**
 * The tokens of a vocabulary by their bytes, as a tree laid out in depth-first order: a common beginning is walked once, and a
 * byte that may not follow skips all tokens below it.
 */
export class TokenTrie {
  /** All tokens, those without bytes included. */
  readonly size: number;
  readonly #bytes: Uint8Array;
  readonly #depths: Uint16Array;
  /** The node at which the walk continues when a node is skipped. */
  readonly #skips: Int32Array;
  /** The token that ends at a node, or −1; further tokens of the same bytes are in `#twins`. */
  readonly #tokens: Int32Array;
  readonly #twins = new Map<number, number[]>();

  /** @param pieces each token's bytes; a token without bytes is in no text */
  constructor(pieces: readonly Uint8Array[]) {
    this.size = pieces.length;
    const order = pieces.flatMap((piece, token) => (piece.length > 0 ? [token] : []));
    order.sort((a, b) => Buffer.compare(pieces[a]!, pieces[b]!));
    let nodes = 0;
    let before: Uint8Array = new Uint8Array(0);
    for (const token of order) {
      nodes += pieces[token]!.length - shared(before, pieces[token]!);
      before = pieces[token]!;
    }
    this.#bytes = new Uint8Array(nodes);
    this.#depths = new Uint16Array(nodes);
    this.#skips = new Int32Array(nodes);
    this.#tokens = new Int32Array(nodes).fill(-1);
    this.#lay(order, pieces);
  }

  #lay(order: readonly number[], pieces: readonly Uint8Array[]): void {
    const path: number[] = [];
    let node = 0;
    const close = (depth: number) => {
      while (path.length > depth) this.#skips[path.pop()!] = node;
    };
    let before: Uint8Array = new Uint8Array(0);
    for (const token of order) {
      const piece = pieces[token]!;
      const common = shared(before, piece);
      close(common);
      for (let depth = common; depth < piece.length; depth++) {
        this.#bytes[node] = piece[depth]!;
        this.#depths[node] = depth;
        path.push(node++);
      }
      const end = path.at(-1)!;
      if (this.#tokens[end] === -1) this.#tokens[end] = token;
      else this.#twins.set(end, [...(this.#twins.get(end) ?? []), token]);
      before = piece;
    }
    close(0);
  }

  /** Marks the tokens that may follow a state, one bit each. */
  allowed(automaton: Automaton, state: State): Uint32Array {
    const mask = new Uint32Array(Math.ceil(this.size / 32));
    const mark = (token: number) => {
      mask[token >>> 5]! |= 1 << (token & 31);
    };
    const states: State[] = [state];
    const nodes = this.#bytes.length;
    for (let node = 0; node < nodes; ) {
      const depth = this.#depths[node]!;
      const next = automaton.step(states[depth]!, this.#bytes[node]!);
      if (next === null) {
        node = this.#skips[node]!;
        continue;
      }
      states[depth + 1] = next;
      const token = this.#tokens[node]!;
      if (token !== -1) {
        mark(token);
        for (const twin of this.#twins.get(node) ?? []) mark(twin);
      }
      node++;
    }
    return mask;
  }
}

/** The length of the common beginning of two pieces. */
function shared(one: Uint8Array, other: Uint8Array): number {
  const most = Math.min(one.length, other.length);
  let length = 0;
  while (length < most && one[length] === other[length]) length++;
  return length;
}
