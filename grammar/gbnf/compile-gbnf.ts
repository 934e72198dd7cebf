import { CodePoints } from "./code-points.ts";
import { GbnfError, type Item, parsedGbnf, type Rules, type Sequence } from "./gbnf.ts";
import type { Edge, Network } from "./network.ts";
import { checkNetwork } from "./network-check.ts";
import { finished, type PausedWork, Pauses } from "./paused-work.ts";
import { utf8Sequences } from "./utf8.ts";

/** Most nodes and edges. Repetitions are expanded, so a grammar of 20 characters can ask for any number of nodes. */
const MOST_NODES = 40_000;
const MOST_EDGES = 120_000;
const ASCII = new CodePoints([[0, 0x7f]]);

/** Name of the rule of `lead` and `root`; no rule of a grammar can have it. */
const START = " start";

/**
 * @param lead right-hand side of the text before `root`, without references to rules; "" for none
 * @throws GbnfError for a text that is not GBNF, and for a grammar that is too large, refers to undefined rules, has no
 * `root`, is left-recursive, or has no text of finite length
 */
export function compileGbnf(text: string, lead = ""): Network {
  return finished(compiledGbnf(text, lead));
}

/**
 * The same with pauses, for a thread that has other work.
 *
 * @throws GbnfError
 */
export function* compiledGbnf(text: string, lead = ""): PausedWork<Network> {
  const rules = yield* parsedGbnf(text);
  const network = yield* new NetworkMaker(...withLead(rules, lead)).network();
  yield* checkNetwork(network);
  return network;
}

/** @returns the rules, and the name of the first one */
function withLead(rules: Rules, lead: string): [Rules, string] {
  if (lead === "" || !rules.has("root")) return [rules, "root"];
  const alternatives = finished(parsedGbnf(`root ::= ${lead}`)).get("root")!;
  const whole: Sequence = [
    { kind: "choice", alternatives },
    { kind: "rule", name: "root" },
  ];
  return [new Map([...rules, [START, [whole]]]), START];
}

class NetworkMaker {
  readonly #rules: Rules;
  readonly #root: string;
  readonly #ids = new Map<string, number>();
  readonly #entries: number[] = [];
  readonly #exits: number[] = [];
  readonly #nodeRules: number[] = [];
  readonly #edges: Edge[][] = [];
  /** 1 for bytes that begin the range of an edge or follow its end: the boundaries of byte classes. */
  readonly #cuts = new Uint8Array(257);
  /** The rule of each set's characters of several bytes: a repeated set occurs many times. */
  readonly #longRules = new Map<CodePoints, number | null>();
  readonly #pauses = new Pauses();
  #edgeCount = 0;
  #rule = 0;

  constructor(rules: Rules, root: string) {
    this.#rules = rules;
    this.#root = root;
  }

  *network(): PausedWork<Network> {
    for (const name of this.#rules.keys()) this.#enter(name);
    const root = this.#ids.get(this.#root);
    if (root === undefined) throw new GbnfError("The grammar has no rule 'root'.");
    for (const [name, alternatives] of this.#rules) {
      this.#rule = this.#ids.get(name)!;
      yield* this.#choice(alternatives, this.#entries[this.#rule]!, this.#exits[this.#rule]!);
    }
    const classes = new Uint8Array(256);
    for (let byte = 1; byte < 256; byte++) classes[byte] = classes[byte - 1]! + this.#cuts[byte]!;
    const classCount = classes[255]! + 1;
    const edges: Edge[][] = [];
    for (const list of this.#edges) {
      if (this.#pauses.due()) yield;
      for (const edge of list) toClasses(edge, classes);
      // A copy has no spare capacity; a list that grew has capacity for 17.
      edges.push(list.slice());
    }
    return { root, entries: this.#entries, exits: this.#exits, rules: this.#nodeRules, edges, classes, classCount };
  }

  #enter(name: string): number {
    const id = this.#entries.length;
    this.#ids.set(name, id);
    this.#rule = id;
    this.#entries.push(this.#node());
    this.#exits.push(this.#node());
    return id;
  }

  #node(): number {
    if (this.#edges.length >= MOST_NODES) throw tooLarge();
    this.#nodeRules.push(this.#rule);
    return this.#edges.push([]) - 1;
  }

  #edge(from: number, edge: Edge): void {
    if (++this.#edgeCount > MOST_EDGES) throw tooLarge();
    this.#edges[from]!.push(edge);
  }

  *#choice(alternatives: readonly Sequence[], from: number, to: number): PausedWork<void> {
    for (const sequence of alternatives) {
      let at = from;
      for (const [i, item] of sequence.entries()) {
        const next = i === sequence.length - 1 ? to : this.#node();
        yield* this.#item(item, at, next);
        at = next;
      }
      if (sequence.length === 0) this.#edge(from, { kind: "free", to });
    }
  }

  *#item(item: Item, from: number, to: number): PausedWork<void> {
    if (this.#pauses.due()) yield;
    switch (item.kind) {
      case "text":
        this.#text(item.text, from, to);
        break;
      case "chars":
        this.#chars(item.set, from, to);
        break;
      case "choice":
        yield* this.#choice(item.alternatives, from, to);
        break;
      case "repeat":
        yield* this.#repeat(item.item, item.min, item.max, from, to);
        break;
      case "rule":
        this.#edge(from, { kind: "call", rule: this.#ruleOf(item.name), to });
        break;
    }
  }

  #ruleOf(name: string): number {
    const rule = this.#ids.get(name);
    if (rule !== undefined) return rule;
    throw new GbnfError(`The grammar refers to a rule '${name.slice(0, 64)}' that it does not define.`);
  }

  #text(text: string, from: number, to: number): void {
    const bytes = new TextEncoder().encode(text);
    let at = from;
    for (const [i, byte] of bytes.entries()) {
      const next = i === bytes.length - 1 ? to : this.#node();
      this.#bytes(at, byte, byte, next);
      at = next;
    }
    if (bytes.length === 0) this.#edge(from, { kind: "free", to });
  }

  /** ASCII characters as edges; characters of several bytes by a rule for each set, since sets are often repeated. */
  #chars(set: CodePoints, from: number, to: number): void {
    for (const [low, high] of set.ranges) {
      if (low <= 0x7f) this.#bytes(from, low, Math.min(high, 0x7f), to);
    }
    const rule = this.#longChars(set);
    if (rule !== null) this.#edge(from, { kind: "call", rule, to });
  }

  /** @returns null if the set has no character of several bytes */
  #longChars(set: CodePoints): number | null {
    const made = this.#longRules.get(set);
    if (made !== undefined) return made;
    const long = set.without(ASCII);
    const rule = long.empty ? null : this.#longRule(long);
    this.#longRules.set(set, rule);
    return rule;
  }

  #longRule(set: CodePoints): number {
    // No rule of a grammar can have this name.
    const name = set.gbnf;
    const known = this.#ids.get(name);
    if (known !== undefined) return known;
    const caller = this.#rule;
    const id = this.#enter(name);
    for (const ranges of utf8Sequences(set)) {
      let at = this.#entries[id]!;
      ranges.forEach(([low, high], i) => {
        const next = i === ranges.length - 1 ? this.#exits[id]! : this.#node();
        this.#bytes(at, low, high, next);
        at = next;
      });
    }
    this.#rule = caller;
    return id;
  }

  *#repeat(item: Item, min: number, max: number | null, from: number, to: number): PausedWork<void> {
    let at = from;
    for (let i = 0; i < min; i++) {
      const next = this.#node();
      yield* this.#item(item, at, next);
      at = next;
    }
    if (max === null) {
      // The loop needs its own node: other edges may lead to `from`, and must not enter the loop there.
      const loop = this.#node();
      this.#edge(at, { kind: "free", to: loop });
      yield* this.#item(item, loop, loop);
      at = loop;
    } else {
      for (let i = min; i < max; i++) {
        const next = this.#node();
        this.#edge(at, { kind: "free", to });
        yield* this.#item(item, at, next);
        at = next;
      }
    }
    this.#edge(at, { kind: "free", to });
  }

  #bytes(from: number, low: number, high: number, to: number): void {
    this.#cuts[low] = 1;
    this.#cuts[high + 1] = 1;
    this.#edge(from, { kind: "byte", low, high, to });
  }
}

function toClasses(edge: Edge, classes: Uint8Array): void {
  if (edge.kind !== "byte") return;
  edge.low = classes[edge.low]!;
  edge.high = classes[edge.high]!;
}

function tooLarge(): GbnfError {
  return new GbnfError("The grammar is too large with its repetitions expanded.");
}
