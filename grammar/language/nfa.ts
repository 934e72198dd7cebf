import { CodePoints } from "../gbnf/code-points.ts";
import { type Item, parsedGbnf, type Sequence } from "../gbnf/gbnf.ts";
import { finished } from "../gbnf/paused-work.ts";
import { TooManyStates } from "./too-many-states.ts";

/** Most nodes, with all repetitions expanded: a pattern of 20 characters may have any number. */
const MOST_NODES = 20_000;
/** Most nodes and characters that are visited for all edges: near a second. */
const MOST_VISITED = 4_000_000;

interface Node {
  free: number[];
  chars: { set: CodePoints; to: number }[];
}

/** A nondeterministic automaton over code points for a right-hand side in GBNF without references to rules. */
export class Nfa {
  readonly #nodes: Node[] = [];
  readonly #start: number;
  readonly #end: number;
  #visited = 0;

  /** @throws TooManyStates */
  constructor(gbnf: string) {
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
      const point = char.codePointAt(0)!;
      nodes = this.edges(nodes).find(([from, to]) => from <= point && point <= to)?.[2] ?? [];
    }
    return this.accepts(nodes);
  }

  /** The nodes after one more character, by ranges of code points. @throws TooManyStates */
  edges(nodes: readonly number[]): [from: number, to: number, nodes: number[]][] {
    const chars = nodes.flatMap((node) => this.#nodes[node]!.chars);
    const cuts = new Set(chars.flatMap(({ set }) => set.ranges.flatMap(([from, to]) => [from, to + 1])));
    const points = [...cuts].sort((a, b) => a - b);
    this.#visit(points.length * chars.length);
    return points.slice(0, -1).flatMap((from, i): [number, number, number[]][] => {
      const targets = chars.filter(({ set }) => set.has(from)).map(({ to }) => to);
      return targets.length === 0 ? [] : [[from, points[i + 1]! - 1, this.#closure(targets)]];
    });
  }

  #closure(from: readonly number[]): number[] {
    const seen = new Set(from);
    for (const node of seen) for (const next of this.#nodes[node]!.free) seen.add(next);
    this.#visit(seen.size);
    return [...seen].sort((a, b) => a - b);
  }

  #visit(count: number): void {
    this.#visited += count;
    if (this.#visited > MOST_VISITED) throw new TooManyStates();
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
