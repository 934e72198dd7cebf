import { CodePoints, type Range } from "../gbnf/code-points.ts";
import { Nfa } from "./nfa.ts";
import type { Rules } from "./rules.ts";
import { TooManyStates } from "./too-many-states.ts";
import type { Work } from "./work.ts";

/** Most states of one set of texts, before those that lead nowhere are left out, and after it: each becomes a rule. */
const MOST_VISITED = 10_000;
const MOST_STATES = 3000;
/** Units of work for one edge: it is kept in memory too. */
const EDGE = 8;

/** The state after a character of a range. */
type Edge<T> = readonly [from: number, to: number, state: T];
/** Edges are sorted and do not overlap; other characters are not allowed. */
interface State<T> {
  accepts: boolean;
  edges: readonly Edge<T>[];
}

/**
 * A regular set of texts, as a deterministic automaton over code points. It begins in state 0, and an accepting state can
 * be reached from every state. All operations throw TooManyStates.
 */
export class Dfa {
  readonly #states: readonly State<number>[];
  readonly #work: Work;

  /** @param states without those that lead nowhere; none for no text */
  private constructor(states: readonly State<number>[], work: Work) {
    if (states.length > MOST_STATES) throw new TooManyStates();
    this.#states = states;
    this.#work = work;
  }

  /** The texts of a right-hand side in GBNF without references to rules. */
  static of(gbnf: string, work: Work): Dfa {
    const nfa = new Nfa(gbnf, work);
    return Dfa.ofMachine(nfa.start, (nodes) => ({ accepts: nfa.accepts(nodes), edges: nfa.edges(nodes) }), work);
  }

  /** The texts that lead from `start` to an accepting state. States are compared as JSON. */
  static ofMachine<T>(start: T, visit: (state: T) => State<T>, work: Work): Dfa {
    const ids = new Map<string, number>([[JSON.stringify(start), 0]]);
    const found = [start];
    const idOf = (state: T): number => {
      const key = JSON.stringify(state);
      const known = ids.get(key);
      if (known !== undefined) return known;
      if (found.length >= MOST_VISITED) throw new TooManyStates();
      ids.set(key, found.length);
      return found.push(state) - 1;
    };
    const states: State<number>[] = [];
    for (let i = 0; i < found.length; i++) {
      const { accepts, edges } = visit(found[i]!);
      work.spend(1 + EDGE * edges.length);
      // The edges of a large character class lead to one state.
      const known = new Map<T, number>();
      for (const [, , state] of edges) if (!known.has(state)) known.set(state, idOf(state));
      states.push({ accepts, edges: edges.map(([from, to, state]) => [from, to, known.get(state)!]) });
    }
    return new Dfa(trimmed(states), work);
  }

  /** Number of states. */
  get size(): number {
    return this.#states.length;
  }

  get empty(): boolean {
    return this.#states.length === 0;
  }

  has(text: string): boolean {
    let state = this.#states[0];
    for (const char of text) {
      const point = char.codePointAt(0)!;
      const edge = state?.edges.find(([from, to]) => from <= point && point <= to);
      if (edge === undefined) return false;
      state = this.#states[edge[2]];
    }
    return state?.accepts === true;
  }

  and(other: Dfa): Dfa {
    if (this.empty) return this;
    if (other.empty) return other;
    const visit = ([i, j]: number[]): State<number[]> => {
      const [one, two] = [this.#states[i!]!, other.#states[j!]!];
      this.#work.spend(one.edges.length + two.edges.length);
      return { accepts: one.accepts && two.accepts, edges: common(one.edges, two.edges) };
    };
    return Dfa.ofMachine([0, 0], visit, this.#work);
  }

  /** All other texts. */
  not(): Dfa {
    const beyond = this.#states.length;
    const visit = (i: number): State<number> => {
      const { accepts, edges } = this.#states[i] ?? { accepts: false, edges: [] };
      const others = gaps(edges).map(([from, to]): Edge<number> => [from, to, beyond]);
      return { accepts: !accepts, edges: [...edges, ...others].sort((a, b) => a[0] - b[0]) };
    };
    return Dfa.ofMachine(0, visit, this.#work);
  }

  /**
   * Adds a rule for each state. A rule calls the next one at its end, where an engine keeps no return.
   *
   * @param charOf the right-hand side for one character of a set
   * @returns the name of the first rule
   */
  rule(rules: Rules, name: string, charOf: (set: CodePoints) => string): string {
    const names = this.#states.map(() => rules.reserve(name));
    this.#states.forEach(({ accepts, edges }, i) => {
      const parts = [...byState(edges)].map(([state, ranges]) => {
        const over = this.#states[state]!.edges.length === 0;
        return `${charOf(new CodePoints(ranges))}${over ? "" : ` ${names[state]}`}`;
      });
      rules.define(names[i]!, [...parts, ...(accepts ? ['""'] : [])].join(" | "));
    });
    return names[0]!;
  }
}

function byState(edges: readonly Edge<number>[]): Map<number, Range[]> {
  const ranges = new Map<number, Range[]>();
  for (const [from, to, state] of edges) {
    const list = ranges.get(state);
    if (list === undefined) ranges.set(state, [[from, to]]);
    else list.push([from, to]);
  }
  return ranges;
}

function common(one: readonly Edge<number>[], two: readonly Edge<number>[]): Edge<number[]>[] {
  const edges: Edge<number[]>[] = [];
  for (let i = 0, j = 0; i < one.length && j < two.length; ) {
    const [from, to, left] = one[i]!;
    const [low, high, right] = two[j]!;
    if (low <= to && from <= high) edges.push([Math.max(from, low), Math.min(to, high), [left, right]]);
    if (to < high) i++;
    else j++;
  }
  return edges;
}

function gaps(edges: readonly Edge<number>[]): readonly Range[] {
  return new CodePoints(edges.map(([from, to]): Range => [from, to])).complement().ranges;
}

/** The states from which an accepting state can be reached, with new numbers; none if the first is not one of them. */
function trimmed(states: readonly State<number>[]): State<number>[] {
  const before = states.map((): number[] => []);
  states.forEach(({ edges }, i) => {
    for (const [, , to] of edges) before[to]!.push(i);
  });
  const live = new Set([...states.keys()].filter((i) => states[i]!.accepts));
  for (const i of live) for (const earlier of before[i]!) live.add(earlier);
  if (!live.has(0)) return [];
  const kept = [...live].sort((a, b) => a - b);
  const numbers = new Map(kept.map((old, i) => [old, i]));
  return kept.map((old) => {
    const { accepts, edges } = states[old]!;
    const left = edges.filter(([, , to]) => live.has(to));
    return { accepts, edges: left.map(([from, to, state]): Edge<number> => [from, to, numbers.get(state)!]) };
  });
}
