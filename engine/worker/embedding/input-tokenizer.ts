import { setImmediate as rest } from "node:timers/promises";
import type { BadRequestKey } from "../../../openapi/errors.ts";
import type { EmbeddingInput } from "../../protocol/embedding.ts";
import type { EngineError } from "../../protocol/messages.ts";
import type { Vocabulary } from "../native/vocabulary.ts";
import type { TextOwner } from "../text/tokenize-queue.ts";
import type { TextPart, Tokenizer } from "../text/tokenizer.ts";

/** Tokens of one request at most, as of OpenAI. */
const MOST_TOKENS = 300_000;
/** Tokens that are made before the event loop turns: a few milliseconds. */
const MADE_AT_ONCE = 4096;

export interface InputTokenizerParts {
  tokenizer: Pick<Tokenizer, "tokens" | "mostBytes">;
  vocabulary: Pick<Vocabulary, "bos" | "addBos" | "closing" | "separator">;
  /** The template of a model that ranks; null for the usual pair of query and document. */
  rankTemplate: string | null;
  /** The longest input in tokens. */
  context: number;
}

/** Tokenizes inputs, with the control tokens of the model around them; inputs of tokens are not changed. */
export class InputTokenizer {
  readonly #parts: InputTokenizerParts;

  constructor(parts: InputTokenizerParts) {
    this.#parts = parts;
  }

  /**
   * The tokens of each input of a request, or the error: the first input that is too long, or too many tokens in all, ends
   * the tokenizing. Null for a cancelled request. `truncate`: the end of a text that is too long is cut off.
   */
  async ofAll(
    inputs: readonly EmbeddingInput[],
    owner: TextOwner,
    truncate = false,
  ): Promise<readonly (readonly number[])[] | EngineError | null> {
    const { context, tokenizer } = this.#parts;
    const mostBytes = tokenizer.mostBytes(context);
    const param = inputs[0]?.kind === "pair" ? "documents" : "input";
    const named = (index: number) =>
      inputs.length > 1 || param === "documents" ? `'${param}[${index}]'` : `'${param}'`;
    const lists: (readonly number[])[] = [];
    let sum = 0;
    let rested = 0;
    for (const [index, given] of inputs.entries()) {
      const input = truncate ? withinBytes(given, mostBytes) : given;
      const bytes = bytesOf(input);
      if (bytes > mostBytes) return tooLong(param, named(index), context, `${bytes} bytes`);
      const all = await this.#of(input, owner);
      if (all === null || !owner.isWanted()) return null;
      const tokens = truncate ? this.#withinContext(all) : all;
      const { length } = tokens;
      if (length === 0) return invalid("invalid_value", param, `Invalid ${named(index)}: it has no tokens.`);
      if (length > context) return tooLong(param, named(index), context, `${length}`);
      sum += length;
      if (sum > MOST_TOKENS) {
        const got = `at most ${MOST_TOKENS} tokens in all, but got more with ${named(index)}`;
        return invalid("invalid_value", param, `Invalid '${param}': ${got}.`);
      }
      lists.push(Array.from(tokens));
      if (sum - rested < MADE_AT_ONCE) continue;
      rested = sum;
      await rest();
    }
    return lists;
  }

  /** The first tokens; a control token at the end of all stays there. */
  #withinContext(tokens: ArrayLike<number>): ArrayLike<number> {
    const { context, vocabulary } = this.#parts;
    if (tokens.length <= context) return tokens;
    const last = tokens[tokens.length - 1]!;
    const first = Array.from({ length: context }, (_, i) => tokens[i]!);
    if (last === vocabulary.closing || last === vocabulary.separator) first[context - 1] = last;
    return first;
  }

  async #of(input: EmbeddingInput, owner: TextOwner): Promise<ArrayLike<number> | null> {
    if (input.kind === "tokens") return input.tokens;
    const { bos, addBos, closing, separator } = this.#parts.vocabulary;
    const lists = await this.#parts.tokenizer.tokens(this.#texts(input), owner);
    if (lists === null) return null;
    if (input.kind === "text") return lists[0]!;
    if (this.#parts.rankTemplate !== null) return lists.flatMap((tokens) => [...tokens]);
    const [first, second] = lists;
    const wanted = [addBos ? bos : -1, ...first!, closing, separator, ...second!, closing];
    return wanted.filter((token) => token >= 0);
  }

  /** Text of a client never becomes a control token; the text of a template may. */
  #texts(input: Exclude<EmbeddingInput, { kind: "tokens" }>): TextPart[] {
    if (input.kind === "text") return [{ text: input.text, special: false, framed: true }];
    const { rankTemplate } = this.#parts;
    if (rankTemplate === null) return [input.query, input.document].map((text) => ({ text, special: false }));
    return rankTemplate
      .split(/\{(query|document)\}/)
      .map((piece, i) =>
        i % 2 === 1
          ? { text: piece === "query" ? input.query : input.document, special: false }
          : { text: piece, special: true },
      );
  }
}

function bytesOf(input: EmbeddingInput): number {
  if (input.kind === "tokens") return 0;
  if (input.kind === "text") return Buffer.byteLength(input.text);
  return Buffer.byteLength(input.query) + Buffer.byteLength(input.document);
}

/** The first bytes of a text, of whole characters. */
function withinBytes(input: EmbeddingInput, most: number): EmbeddingInput {
  if (input.kind !== "text" || bytesOf(input) <= most) return input;
  const text = new TextDecoder().decode(Buffer.from(input.text).subarray(0, most), { stream: true });
  return { kind: "text", text };
}

function tooLong(param: string, named: string, context: number, size: string): EngineError {
  const most = `this model reads at most ${context} tokens of one input, and it has ${size}`;
  return invalid("context_length_exceeded", param, `Invalid ${named}: ${most}.`);
}

function invalid(code: BadRequestKey, param: string, message: string): EngineError {
  return { code, param, message };
}
