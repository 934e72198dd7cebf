import type { Prompt } from "../protocol.ts";
import type { Vocabulary } from "./native/vocabulary.ts";
import type { ChatTemplate } from "./text/chat-template.ts";

export interface BuiltPrompt {
  tokens: number[];
  /** Tokens at the beginning that the client did not write. */
  opening: number;
  startsInReasoning: boolean;
}

/** Renders a prompt and turns it into tokens. */
export class PromptBuilder {
  readonly #vocabulary: Vocabulary;
  readonly #template: ChatTemplate;
  readonly #now: () => Date;

  constructor(vocabulary: Vocabulary, template: ChatTemplate, now: () => Date) {
    this.#vocabulary = vocabulary;
    this.#template = template;
    this.#now = now;
  }

  /** @throws TemplateError when the model's template refuses the messages */
  async build(prompt: Prompt): Promise<BuiltPrompt> {
    if (prompt.kind === "tokens") return { tokens: prompt.tokens, opening: 0, startsInReasoning: false };
    if (prompt.kind === "text") {
      // A plain prompt is the user's from end to end: nothing in it may become a control token.
      const tokens = await this.#vocabulary.tokenize(prompt.text, false);
      const opening = this.#opening();
      return { tokens: [...opening, ...tokens], opening: opening.length, startsInReasoning: false };
    }
    const rendered = this.#template.render(prompt.messages, prompt.variables, this.#now());
    const parts = rendered.pieces.map((piece) => this.#vocabulary.tokenize(piece.text, !piece.literal));
    const tokens: number[] = rendered.startsWithBos ? [] : this.#opening();
    for (const part of await Promise.all(parts)) for (const token of part) tokens.push(token);
    return { tokens, opening: 0, startsInReasoning: rendered.startsInReasoning };
  }

  /** The text of a token prompt, for echo. */
  text(tokens: readonly number[]): string {
    return Buffer.concat(tokens.map((token) => this.#vocabulary.piece(token))).toString();
  }

  #opening(): number[] {
    return this.#vocabulary.addBos ? [this.#vocabulary.bos] : [];
  }
}
