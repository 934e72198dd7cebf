import { type NewLines, OPEN_ANSWER } from "../../store/types/line-row.ts";
import { lineOrder } from "./line-order.ts";
import { KEY_LENGTH } from "./prefix-key.ts";
import { TextColumn } from "./text-column.ts";

/** A line that passed its checks. */
export interface CheckedLine {
  /** 1-based, of the file. */
  number: number;
  customId: string;
  /** Bytes from the start of the file. */
  offset: number;
  /** Bytes, without the line end. */
  length: number;
  /** The PrefixKey of the prompt. */
  prefix: readonly number[];
  estimatedTokens: number;
  promptTokens: number;
  /** Requested answers. */
  choices: number;
  /** Bound on the tokens of each answer; null for none. */
  maxTokens: number | null;
}

/**
 * The good lines of a file until all of it is checked: their order needs all lines, and a file with a bad line runs none.
 * Columns of numbers keep 50,000 lines in 3 MB beside their ids.
 */
export class LineIndex {
  readonly #numbers: Uint32Array;
  readonly #offsets: Float64Array;
  readonly #lengths: Uint32Array;
  readonly #tokens: Uint32Array;
  readonly #promptTokens: Uint32Array;
  readonly #choices: Uint32Array;
  readonly #maxTokens: Uint32Array;
  readonly #prefixes: Uint32Array;
  readonly #customIds: TextColumn;

  /** @param capacity lines at most; the system commits memory only as lines are added */
  constructor(capacity: number) {
    this.#customIds = new TextColumn(capacity);
    this.#numbers = new Uint32Array(capacity);
    this.#offsets = new Float64Array(capacity);
    this.#lengths = new Uint32Array(capacity);
    this.#tokens = new Uint32Array(capacity);
    this.#promptTokens = new Uint32Array(capacity);
    this.#choices = new Uint32Array(capacity);
    this.#maxTokens = new Uint32Array(capacity);
    this.#prefixes = new Uint32Array(capacity * KEY_LENGTH);
  }

  add(line: CheckedLine): void {
    const row = this.#customIds.length;
    this.#customIds.push(line.customId);
    this.#numbers[row] = line.number;
    this.#offsets[row] = line.offset;
    this.#lengths[row] = line.length;
    this.#tokens[row] = line.estimatedTokens;
    this.#promptTokens[row] = line.promptTokens;
    this.#choices[row] = line.choices;
    this.#maxTokens[row] = line.maxTokens ?? OPEN_ANSWER;
    this.#prefixes.set(line.prefix, row * KEY_LENGTH);
  }

  /** All lines in file order, `size` at a time, each with its position in the order in which lines run. */
  *chunks(size: number): Generator<NewLines> {
    const positions = this.#positions();
    for (let from = 0; from < this.#customIds.length; from += size) {
      const to = Math.min(this.#customIds.length, from + size);
      yield {
        numbers: this.#numbers.slice(from, to),
        customIds: this.#customIds.slice(from, to),
        offsets: this.#offsets.slice(from, to),
        lengths: this.#lengths.slice(from, to),
        positions: positions.slice(from, to),
        estimatedTokens: this.#tokens.slice(from, to),
        promptTokens: this.#promptTokens.slice(from, to),
        choices: this.#choices.slice(from, to),
        maxTokens: this.#maxTokens.slice(from, to),
      };
    }
  }

  /** By row, from 1. */
  #positions(): Uint32Array {
    const order = lineOrder(this.#prefixes, this.#tokens, this.#customIds.length);
    const positions = new Uint32Array(order.length);
    order.forEach((row, index) => {
      positions[row] = index + 1;
    });
    return positions;
  }
}
