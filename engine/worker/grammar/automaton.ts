import type { Network } from "../../../grammar/gbnf/network.ts";

/**
 * Ways to read the text so far that are followed at once, free and called edges included. Only a very ambiguous grammar has
 * more, and text that leads there counts as not allowed: the number of ways could double with every character.
 */
const MOST_WAYS = 4096;
/** Cached states. At this number the cache is emptied; sequences keep the states that they are in. */
const MOST_STATES = 4096;

/**
 * Ways that may be followed before tokens refill the credit, and the refill of each token. A way costs about a microsecond once,
 * later it is cached; so a grammar that leads to ever new ways takes some milliseconds a token at most.
 */
const MOST_CREDIT = 200_000;
const TOKEN_CREDIT = 10_000;

/** The return nodes of rule calls, innermost first. Each is made once, so that equal ones are the same object. */
class Calls {
  readonly id: number;
  readonly node: number;
  readonly outer: Calls | null;
  readonly #inner = new Map<number, Calls>();

  constructor(id: number, node: number, outer: Calls | null) {
    this.id = id;
    this.node = node;
    this.outer = outer;
  }

  within(node: number, id: () => number): Calls {
    let inner = this.#inner.get(node);
    if (inner === undefined) {
      inner = new Calls(id(), node, this);
      this.#inner.set(node, inner);
    }
    return inner;
  }
}

interface Way {
  node: number;
  calls: Calls;
}

/** The possible continuations of some text. */
export class State {
  /** True when the text may end here. */
  readonly complete: boolean;
  readonly ways: readonly Way[];
  /** By class of byte; null: not allowed; undefined: not computed yet. */
  readonly next: (State | null | undefined)[];

  constructor(ways: readonly Way[], complete: boolean, classes: number) {
    this.ways = ways;
    this.complete = complete;
    this.next = new Array<State | null | undefined>(classes);
  }

  /** True when no byte may follow. */
  get over(): boolean {
    return this.ways.length === 0;
  }
}

/**
 * Walks a network byte by byte, all its ways at once, and caches each step: a frequent step is a look-up (lazy determinization,
 * as in regular expression engines). Its work and its memory are bounded for every grammar.
 */
export class Automaton {
  readonly #network: Network;
  /** By node: 1 where calls that return there return further at once, so that the return node need not be kept. */
  readonly #tails: Uint8Array;
  #states = new Map<string, State>();
  #nextCalls = 0;
  #credit = MOST_CREDIT;
  #start: State;

  constructor(network: Network) {
    this.#network = network;
    this.#tails = new Uint8Array(network.edges.length);
    for (const exit of network.exits) this.#tails[exit] = 1;
    this.#start = this.#begin();
  }

  get start(): State {
    return this.#start;
  }

  /** True while bytes may be refused for lack of credit alone. */
  get exhausted(): boolean {
    return this.#credit <= 0;
  }

  /** A token was taken: refills the credit. */
  pay(): void {
    this.#credit = Math.min(MOST_CREDIT, this.#credit + TOKEN_CREDIT);
  }

  /** @returns null when the byte may not follow */
  step(state: State, byte: number): State | null {
    const at = this.#network.classes[byte]!;
    const known = state.next[at];
    if (known !== undefined) return known;
    if (this.exhausted) return null;
    const next = this.#follow(state, at);
    state.next[at] = next;
    return next;
  }

  /** @returns null when the bytes may not follow */
  walk(state: State, bytes: Uint8Array): State | null {
    let at: State | null = state;
    for (let i = 0; i < bytes.length && at !== null; i++) at = this.step(at, bytes[i]!);
    return at;
  }

  #begin(): State {
    this.#states = new Map();
    const outermost = new Calls(this.#nextCalls++, -1, null);
    const start = this.#settle([{ node: this.#network.entries[this.#network.root]!, calls: outermost }]);
    // Where the root's own beginning has too many ways, no text is allowed.
    return start ?? new State([], false, this.#network.classCount);
  }

  #follow(state: State, at: number): State | null {
    const ways: Way[] = [];
    for (const { node, calls } of state.ways) {
      for (const edge of this.#network.edges[node]!) {
        if (edge.kind === "byte" && edge.low <= at && at <= edge.high) ways.push({ node: edge.to, calls });
      }
    }
    return ways.length === 0 ? null : this.#settle(ways);
  }

  /** Follows all edges that take no byte. @returns null when there are too many ways */
  #settle(todo: Way[]): State | null {
    const { edges, entries, exits, rules } = this.#network;
    const nodes = edges.length;
    const seen = new Set<number>();
    const ways = new Map<number, Way>();
    let complete = false;
    const id = () => this.#nextCalls++;
    for (let way = todo.pop(); way !== undefined; way = todo.pop()) {
      const { node, calls } = way;
      const key = calls.id * nodes + node;
      if (seen.has(key)) continue;
      seen.add(key);
      this.#credit--;
      if (seen.size > MOST_WAYS) return null;
      if (node === exits[rules[node]!]) {
        if (calls.outer === null) complete = true;
        else todo.push({ node: calls.node, calls: calls.outer });
      }
      for (const edge of edges[node]!) {
        if (edge.kind === "byte") ways.set(key, way);
        else if (edge.kind === "free") todo.push({ node: edge.to, calls });
        else {
          const inner = this.#tails[edge.to] === 1 ? calls : calls.within(edge.to, id);
          todo.push({ node: entries[edge.rule]!, calls: inner });
        }
      }
    }
    return this.#known(ways, complete);
  }

  #known(ways: Map<number, Way>, complete: boolean): State {
    const key = `${[...ways.keys()].sort((a, b) => a - b).join()}${complete ? "!" : ""}`;
    const known = this.#states.get(key);
    if (known !== undefined) return known;
    const state = new State([...ways.values()], complete, this.#network.classCount);
    if (this.#states.size >= MOST_STATES) this.#start = this.#begin();
    this.#states.set(key, state);
    return state;
  }
}
