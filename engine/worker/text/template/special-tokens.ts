const NEVER = /(?!)/g;
const SYNTAX = /[\\^$.*+?()[\]{}|/-]/g;

/**
 * Finds the texts of a vocabulary's special tokens in other text.
 *
 * One alternation of plain strings, longest first: it has no backtracking, and V8 folds the common prefixes. Measured: 1 MB of
 * the worst text against 30,000 tokens takes 50 ms, against Llama 3's 256 under 5 ms.
 */
export class SpecialTokens {
  /** Matches every whole special token; of two that begin at one place, the longer. */
  readonly whole: RegExp = NEVER;
  /** Matches the same, or a single character that begins any special token. */
  readonly beginning: RegExp = NEVER;
  readonly #longest: number = 0;
  readonly #sorted: string[];
  readonly #reversed: string[];
  readonly #joined: string;

  constructor(texts: string[]) {
    this.#sorted = [...new Set(texts)].filter((text) => text !== "").sort();
    this.#reversed = this.#sorted.map(reverse).sort();
    // No token has a NUL (its text is a C string), so no match spans two of them.
    this.#joined = this.#sorted.join("\0");
    if (this.#sorted.length === 0) return;
    const longestFirst = [...this.#sorted].sort((a, b) => b.length - a.length);
    const alternatives = longestFirst.map(escapeRegExp).join("|");
    const first = [...new Set(this.#sorted.map((text) => text.charAt(0)))].map(escapeRegExp).join("");
    this.whole = new RegExp(alternatives, "g");
    this.beginning = new RegExp(`${alternatives}|[${first}]`, "g");
    this.#longest = longestFirst[0]!.length;
  }

  /** The length of the longest end of `text` that begins a special token but is not all of it. */
  openEnd(text: string): number {
    return openLength(this.#sorted, this.#longest, text);
  }

  /** The length of the longest beginning of `text` that ends a special token but is not all of it. */
  openStart(text: string): number {
    return openLength(this.#reversed, this.#longest, reverse(text.slice(0, this.#longest)));
  }

  /** Whether all of `text` lies within some special token, so that a template could write the rest around it. */
  isPart(text: string): boolean {
    return text !== "" && text.length < this.#longest && this.#joined.includes(text);
  }
}

function openLength(sorted: string[], longest: number, text: string): number {
  for (let length = Math.min(longest - 1, text.length); length > 0; length -= 1) {
    const end = text.slice(text.length - length);
    // Every string that begins with `end` stands directly after it in the order; `end` itself may stand first.
    let index = lowerBound(sorted, end);
    if (sorted[index] === end) index += 1;
    if (sorted[index]?.startsWith(end)) return length;
  }
  return 0;
}

function lowerBound(sorted: string[], text: string): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle]! < text) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** By code unit: only used to compare, never shown. */
function reverse(text: string): string {
  return text.split("").reverse().join("");
}

function escapeRegExp(text: string): string {
  return text.replace(SYNTAX, "\\$&");
}
