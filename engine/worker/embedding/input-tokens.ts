import { setImmediate as rest } from "node:timers/promises";
import type { EmbeddingInput } from "../../protocol/embedding.ts";
import type { EngineError } from "../../protocol/messages.ts";
import type { Vocabulary } from "../native/vocabulary.ts";

/** OpenAI's bound on what one request may hold. */
const MOST_TOKENS = 300_000;
/** Tokens that are made before a step of others gets its turn: a few milliseconds. */
const MADE_AT_ONCE = 4096;

type Texts = Pick<Vocabulary, "tokenize" | "bos" | "addBos" | "closing" | "separator">;

/** Turns inputs into tokens, with what the model wants around them; tokens that are given stay as they are. */
export class InputTokens {
  readonly #vocabulary: Texts;
  readonly #rankTemplate: string | null;
  /** The longest input. */
  readonly #context: number;

  constructor(vocabulary: Texts, rankTemplate: string | null, context: number) {
    this.#vocabulary = vocabulary;
    this.#rankTemplate = rankTemplate;
    this.#context = context;
  }

  /**
   * The tokens of each input of a request, or why it is refused; reading ends with the first that is too long, and past
   * the most of all. Null when nobody wants it any more.
   */
  async ofAll(
    inputs: readonly EmbeddingInput[],
    isWanted: () => boolean,
  ): Promise<readonly (readonly number[])[] | EngineError | null> {
    const param = inputs[0]?.kind === "pair" ? "documents" : "input";
    const named = (index: number) =>
      inputs.length > 1 || param === "documents" ? `'${param}[${index}]'` : `'${param}'`;
    const lists: (readonly number[])[] = [];
    let sum = 0;
    let rested = 0;
    for (const [index, input] of inputs.entries()) {
      const tokens = await this.#of(input);
      if (!isWanted()) return null;
      const { length } = tokens;
      if (length === 0) return invalid("invalid_value", param, `Invalid ${named(index)}: it has no tokens.`);
      if (length > this.#context) {
        const most = `this model reads at most ${this.#context} tokens of one input, and it has ${length}`;
        return invalid("context_length_exceeded", param, `Invalid ${named(index)}: ${most}.`);
      }
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

  async #of(input: EmbeddingInput): Promise<ArrayLike<number>> {
    switch (input.kind) {
      case "tokens":
        return input.tokens;
      case "text":
        // As everywhere, nothing that a client writes becomes a control token.
        return this.#vocabulary.tokenize(input.text, false, true);
      case "pair":
        return this.#pair(input.query, input.document);
    }
  }

  async #pair(query: string, document: string): Promise<number[]> {
    if (this.#rankTemplate !== null) return this.#rendered(this.#rankTemplate, { query, document });
    const { bos, addBos, closing, separator } = this.#vocabulary;
    const parts = [query, document].map((text) => this.#vocabulary.tokenize(text, false));
    const [first, second] = await Promise.all(parts);
    const wanted = [addBos ? bos : -1, ...first!, closing, separator, ...second!, closing];
    return wanted.filter((token) => token >= 0);
  }

  /** The template's own text may hold control tokens; what is put into its places may not. */
  async #rendered(template: string, values: Record<string, string>): Promise<number[]> {
    const pieces = template.split(/\{(query|document)\}/);
    const parts = pieces.map((piece, i) =>
      i % 2 === 1 ? this.#vocabulary.tokenize(values[piece]!, false) : this.#vocabulary.tokenize(piece, true),
    );
    return (await Promise.all(parts)).flatMap((tokens) => [...tokens]);
  }
}

function invalid(code: string, param: string, message: string): EngineError {
  return { status: 400, type: "invalid_request_error", code, param, message };
}
