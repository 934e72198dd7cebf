import type { EmbeddingInput } from "../../protocol/embedding.ts";
import type { Vocabulary } from "../native/vocabulary.ts";

/** Turns inputs into tokens, with what the model wants around them; tokens that are given stay as they are. */
export class InputTokens {
  readonly #vocabulary: Vocabulary;
  readonly #rankTemplate: string | null;

  constructor(vocabulary: Vocabulary, rankTemplate: string | null) {
    this.#vocabulary = vocabulary;
    this.#rankTemplate = rankTemplate;
  }

  async of(input: EmbeddingInput): Promise<ArrayLike<number>> {
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
