import type { Random } from "../base/random.ts";

/** Ids of words in the tiny vocabularies: control tokens are before them. */
const FIRST_WORD = 3;
const LAST_WORD = 500;
const TEXTS = 6;
const TEXT_TOKENS = 400;
const LONGEST = 480;
/** Long texts, which have checkpoints within; a prompt is one with other words somewhere. */
const LONG_TEXTS = 2;
const LONG_TOKENS = 2600;
const LONG_SHARE = 0.04;
/** Prompts that later ones may repeat or continue. */
const MOST_KNOWN = 300;

/** Prompts that repeat and continue earlier ones, begin with a part of one of a few texts, or change a long one. */
export class RelatedPrompts {
  readonly #random: Random;
  readonly #texts: number[][];
  readonly #longTexts: number[][];
  readonly #known: number[][] = [];

  constructor(random: Random) {
    this.#random = random;
    this.#texts = Array.from({ length: TEXTS }, () => this.#words(TEXT_TOKENS));
    this.#longTexts = Array.from({ length: LONG_TEXTS }, () => this.#words(LONG_TOKENS));
  }

  next(): number[] {
    const random = this.#random;
    if (random.next() < LONG_SHARE) return this.#changedLongText();
    const prompt = this.#prompt(random.next());
    if (this.#known.length < MOST_KNOWN) this.#known.push(prompt);
    else this.#known[random.integer(0, MOST_KNOWN - 1)] = prompt;
    return prompt;
  }

  #prompt(chance: number): number[] {
    const random = this.#random;
    if (this.#known.length > 0 && chance < 0.5) {
      const known = this.#known[random.integer(0, this.#known.length - 1)]!;
      return chance < 0.15 ? known : [...known, ...this.#words(random.integer(1, 60))].slice(0, LONGEST);
    }
    const text = this.#texts[random.integer(0, TEXTS - 1)]!;
    return [...text.slice(0, random.integer(20, TEXT_TOKENS)), ...this.#words(random.integer(1, 40))];
  }

  #changedLongText(): number[] {
    const text = this.#longTexts[this.#random.integer(0, LONG_TEXTS - 1)]!;
    const at = this.#random.integer(1000, LONG_TOKENS);
    return [...text.slice(0, at), ...this.#words(this.#random.integer(1, 20)), ...text.slice(at)];
  }

  #words(count: number): number[] {
    return Array.from({ length: count }, () => this.#random.integer(FIRST_WORD, LAST_WORD));
  }
}
