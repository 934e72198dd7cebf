import { literal } from "../gbnf/literal.ts";
import type { Rules } from "../language/rules.ts";
import { GrammarTooLarge } from "../schema/unsupported-schema.ts";

/** Most characters of a grammar. The rules of a schema are a few times as long as the schema. */
const MOST_CHARACTERS = 448 * 1024;
/** Most units of work, which take some four seconds. No schema of the JSON-Schema-Test-Suite takes more than 31,000. */
const MOST_WORK = 8_000_000;

/** Collects the rules of a grammar in GBNF, the notation of llama.cpp. Equal rules are written once. */
export class RuleBook implements Rules {
  readonly #bodies = new Map<string, string>();
  readonly #names = new Map<string, string>();
  /** Number of rules by the name that was asked for. */
  readonly #wanted = new Map<string, number>();
  readonly #most: number;
  readonly #mostWork: number;
  #characters = 0;
  #work = 0;

  /**
   * @param most characters of all rules; for more, it throws GrammarTooLarge
   * @param mostWork units of work for all rules, likewise
   */
  constructor(most = MOST_CHARACTERS, mostWork = MOST_WORK) {
    this.#most = most;
    this.#mostWork = mostWork;
  }

  /** Adds a rule with a right-hand side in GBNF. @returns its name: the given one, with a number if it is taken */
  rule(name: string, body: string): string {
    const same = this.#names.get(body);
    if (same !== undefined) return same;
    const free = this.reserve(name);
    this.define(free, body);
    return free;
  }

  /** Reserves the name of a rule that is defined later, so that other rules can refer to it. */
  reserve(name: string): string {
    const base = name.replace(/[^0-9A-Za-z]+/g, "-").slice(0, 32) || "rule";
    let free = base;
    while (free === "root" || this.#bodies.has(free)) {
      const times = (this.#wanted.get(base) ?? 1) + 1;
      this.#wanted.set(base, times);
      free = `${base}-${times}`;
    }
    this.#bodies.set(free, "");
    return free;
  }

  define(name: string, body: string): void {
    this.#characters += name.length + body.length;
    if (this.#characters > this.#most) throw new GrammarTooLarge();
    this.#bodies.set(name, body);
    if (!this.#names.has(body)) this.#names.set(body, name);
  }

  /** @throws GrammarTooLarge where all work together takes too long */
  spend(units: number): void {
    this.#work += units;
    if (this.#work > this.#mostWork) throw new GrammarTooLarge();
  }

  /** @returns the whole grammar, `root` first */
  build(root: string): string {
    const rules = [...this.#bodies].map(([name, body]) => `${name} ::= ${body}\n`);
    return `root ::= ${root}\n${rules.join("")}`;
  }

  /** A JSON value as a literal, without spaces. */
  value(value: unknown): string {
    return literal(JSON.stringify(value));
  }
}
