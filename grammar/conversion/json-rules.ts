import { CodePoints } from "../gbnf/code-points.ts";
import { anyInteger, anyNumber } from "../language/number-range.ts";
import type { RuleBook } from "./rule-book.ts";

/** Characters with a short escape in JSON, and the escape as GBNF. */
const ESCAPES: readonly (readonly [number, string])[] = [
  [0x22, '"\\\\\\""'],
  [0x5c, '"\\\\\\\\"'],
  [0x08, '"\\\\b"'],
  [0x0c, '"\\\\f"'],
  [0x0a, '"\\\\n"'],
  [0x0d, '"\\\\r"'],
  [0x09, '"\\\\t"'],
];
const ESCAPED = new CodePoints([
  [0, 0x1f],
  [0x22, 0x22],
  [0x5c, 0x5c],
]);

/** The rules of JSON, each added at its first use. */
export class JsonRules {
  readonly #grammar: RuleBook;
  /** Recursive rules by their names here. */
  readonly #made = new Map<string, string>();

  constructor(grammar: RuleBook) {
    this.#grammar = grammar;
  }

  /** White space between tokens: none, a space, or a line break with indentation. Bounded, since models may write it endlessly. */
  get space(): string {
    return this.#grammar.rule("ws", '| " " | "\\n" [ \\t]{0,20}');
  }

  get comma(): string {
    return this.#grammar.rule("comma", `"," ${this.space}`);
  }

  /** One character of a string, without escapes of surrogates and of NUL, which are not text. */
  get char(): string {
    const hex = this.#grammar.rule("hex", "[0-9A-Fa-f]");
    const plain = this.#grammar.rule(
      "unicode",
      `"0" "0" ("0" [1-9A-Fa-f] | [1-9A-Fa-f] ${hex}) | "0" [1-9A-Fa-f] ${hex} ${hex} | ` +
        `[1-9A-CE-Fa-ce-f] ${hex} ${hex} ${hex} | [Dd] [0-7] ${hex} ${hex}`,
    );
    return this.#grammar.rule("char", `${ESCAPED.complement().gbnf} | "\\\\" (["\\\\/bfnrt] | "u" ${plain})`);
  }

  /** One of these characters, as written in a JSON string. */
  charOf(set: CodePoints): string {
    const alternatives: string[] = [];
    const plain = set.without(ESCAPED);
    if (!plain.empty) alternatives.push(plain.gbnf);
    for (const [point, written] of ESCAPES) if (set.has(point)) alternatives.push(written);
    const short = ESCAPES.map(([point]) => point);
    for (let point = 1; point < 0x20; point++) {
      if (set.has(point) && !short.includes(point)) {
        alternatives.push(`"\\\\u00${point.toString(16).padStart(2, "0")}"`);
      }
    }
    if (alternatives.length === 0) return "[]";
    return alternatives.length === 1 ? alternatives[0]! : this.#grammar.rule("class", alternatives.join(" | "));
  }

  get string(): string {
    return this.#grammar.rule("string", `"\\"" ${this.char}* "\\""`);
  }

  get integer(): string {
    return this.#grammar.rule("integer", anyInteger);
  }

  get number(): string {
    return this.#grammar.rule("number", anyNumber);
  }

  get boolean(): string {
    return this.#grammar.rule("boolean", '"true" | "false"');
  }

  /** Any value. */
  get value(): string {
    return this.#recursive(
      "value",
      () => `${this.object} | ${this.array} | ${this.string} | ${this.number} | ${this.boolean} | "null"`,
    );
  }

  /** Any object. */
  get object(): string {
    return this.#recursive("object", () => {
      const pair = this.#grammar.rule("pair", `${this.string} ":" ${this.space} ${this.value}`);
      return `"{" ${this.space} (${pair} (${this.comma} ${pair})* ${this.space})? "}"`;
    });
  }

  /** Any array. */
  get array(): string {
    return this.#recursive(
      "array",
      () => `"[" ${this.space} (${this.value} (${this.comma} ${this.value})* ${this.space})? "]"`,
    );
  }

  #recursive(name: string, body: () => string): string {
    const made = this.#made.get(name);
    if (made !== undefined) return made;
    const reserved = this.#grammar.reserve(name);
    this.#made.set(name, reserved);
    this.#grammar.define(reserved, body());
    return reserved;
  }
}
