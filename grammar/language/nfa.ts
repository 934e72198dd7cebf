import { CodePoints } from "../gbnf/code-points.ts";
import { type Item, parsedGbnf, type Sequence } from "../gbnf/gbnf.ts";
import { finished } from "../gbnf/paused-work.ts";
import { TooManyStates } from "./too-many-states.ts";
import type { Work } from "./work.ts";

/** Most nodes, with all repetitions expanded: a pattern of 20 characters may have any number. */
const MOST_NODES = 20_000;
/** Most nodes and ends of ranges that are visited for all edges: near a second. */
const MOST_VISITED = 4_000_000;

interface Node {
  free: number[];
  chars: { set: CodePoints; to: number }[];
}

/** A point at which a range begins (`by` is 1), or before which it ended (−1). */
interface Cut {
  at: number;
  to: number;
  by: 1 | -1;
}

function cutsOf({ set, to }: Node["chars"][number]): Cut[] {
  return set.ranges.flatMap(([first, last]): Cut[] => [
    { at: first, to, by: 1 },
    { at: last + 1, to, by: -1 },
  ]);
}

/** A nondeterministic automaton over code points for a right-hand side in GBNF without references to rules. */
export class Nfa {
  readonly #nodes: Node[] = [];
  readonly #start: number;
  readonly #end: number;
  readonly #work: Work;
  #visited = 0;

  /** @throws TooManyStates */
  constructor(gbnf: string, work: Work) {
    this.#work = work;
    const alternatives = finished(parsedGbnf(`root ::= ${gbnf}`)).get("root")!;
    this.#start = this.#node();
    this.#end = this.#node();
    this.#choice(alternatives, this.#start, this.#end);
  }

  /** The nodes at the beginning of a text, sorted. */
  get start(): number[] {
    return this.#closure([this.#start]);
  }

  accepts(nodes: readonly number[]): boolean {
    return nodes.includes(this.#end);
  }

  has(text: string): boolean {
    let nodes = this.start;
    for (const char of text) {
      this.#work.spend(nodes.length);
      const point = char.codePointAt(0)!;
      const chars = nodes.flatMap((node) => this.#nodes[node]!.chars);
      nodes = this.#closure(chars.filter(({ set }) => set.has(point)).map(({ to }) => to));
    }
    return this.accepts(nodes);
  }

  /** The nodes after one more character, by ranges of code points; equal nodes are one array. @throws TooManyStates */
  edges(nodes: readonly number[]): [from: number, to: number, nodes: number[]][] {
    const cuts = nodes.flatMap((node) => this.#nodes[node]!.chars.flatMap(cutsOf)).sort((a, b) => a.at - b.at);
    this.#visit(cuts.length);
    const edges: [number, number, number[]][] = [];
    const closures = new Map<string, number[]>();
    // Targets of the ranges that are open at a point, each as often as it is the target of one.
    const open = new Map<number, number>();
    cuts.forEach(({ at, to, by }, i) => {
      const times = (open.get(to) ?? 0) + by;
      if (times === 0) open.delete(to);
      else open.set(to, times);
      const next = cuts[i + 1]?.at ?? at;
      if (next === at || open.size === 0) return;
      this.#visit(open.size);
      const targets = [...open.keys()].sort((a, b) => a - b);
      const key = targets.join();
      const closure = closures.get(key) ?? this.#closure(targets);
      closures.set(key, closure);
      edges.push([at, next - 1, closure]);
    });
    for (const { length } of closures.values()) this.#visit(length);
    return edges;
  }

  #visit(count: number): void {
    this.#work.spend(count);
    this.#visited += count;
    if (this.#visited > MOST_VISITED) throw new TooManyStates();
  }

  #closure(from: readonly number[]): number[] {
    const seen = new Set(from);
    for (const node of seen) for (const next of this.#nodes[node]!.free) seen.add(next);
    return [...seen].sort((a, b) => a - b);
  }

  #node(): number {
    if (this.#nodes.length >= MOST_NODES) throw new TooManyStates();
    return this.#nodes.push({ free: [], chars: [] }) - 1;
  }

  #choice(alternatives: readonly Sequence[], from: number, to: number): void {
    for (const sequence of alternatives) {
      let at = from;
      for (const item of sequence) {
        const next = this.#node();
        this.#item(item, at, next);
        at = next;
      }
      this.#nodes[at]!.free.push(to);
    }
  }

  #item(item: Item, from: number, to: number): void {
    switch (item.kind) {
      case "text":
        this.#text(item.text, from, to);
        break;
      case "chars":
        this.#nodes[from]!.chars.push({ set: item.set, to });
        break;
      case "choice":
        this.#choice(item.alternatives, from, to);
        break;
      case "repeat":
        this.#repeat(item.item, item.min, item.max, from, to);
        break;
      case "rule":
        throw new Error(`The rule '${item.name}' has no place in a text.`);
    }
  }

  #text(text: string, from: number, to: number): void {
    let at = from;
    for (const char of text) {
      const next = this.#node();
      this.#nodes[at]!.chars.push({ set: CodePoints.of(char), to: next });
      at = next;
    }
    this.#nodes[at]!.free.push(to);
  }

  #repeat(item: Item, min: number, max: number | null, from: number, to: number): void {
    let at = from;
    for (let i = 0; i < (max ?? min); i++) {
      if (i >= min) this.#nodes[at]!.free.push(to);
      const next = this.#node();
      this.#item(item, at, next);
      at = next;
    }
    if (max === null) {
      const loop = this.#node();
      this.#nodes[at]!.free.push(loop);
      this.#item(item, loop, loop);
      at = loop;
    }
    this.#nodes[at]!.free.push(to);
  }
}
