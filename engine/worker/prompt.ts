import type { Prompt, TokenAnswer, TokenQuestion } from "../protocol.ts";
import type { Vocabulary } from "./native/vocabulary.ts";
import type { ChatTemplate } from "./text/chat-template.ts";
import { thinkingPlan } from "./text/thinking.ts";

export interface BuiltPrompt {
  tokens: number[];
  startsInReasoning: boolean;
  /** Tokens after which thoughts are closed; null: the engine's default. */
  thoughtBudget: number | null;
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
    const plain = { startsInReasoning: false, thoughtBudget: null };
    if (prompt.kind === "tokens") return { tokens: prompt.tokens, ...plain };
    if (prompt.kind === "text") {
      // A plain prompt is the user's from end to end: nothing in it may become a control token.
      const tokens = await this.#vocabulary.tokenize(prompt.text, false);
      return { tokens: [...this.#opening(), ...tokens], ...plain };
    }
    const { variables, budget } = thinkingPlan(prompt.thinking, this.#template.thinking);
    const given = { ...variables, ...prompt.variables };
    const rendered = this.#template.render(prompt.messages, given, this.#now(), prompt.tools);
    const parts = rendered.pieces.map((piece) => this.#vocabulary.tokenize(piece.text, !piece.literal));
    const tokens: number[] = rendered.startsWithBos ? [] : this.#opening();
    for (const part of await Promise.all(parts)) for (const token of part) tokens.push(token);
    return { tokens, startsInReasoning: rendered.startsInReasoning, thoughtBudget: budget };
  }

  /** @throws TemplateError when the model's template refuses the messages */
  async answer(question: TokenQuestion): Promise<TokenAnswer> {
    const tokens = await this.#tokensOf(question);
    const pieces = tokens.map((token) => this.#vocabulary.bytes(token));
    return { tokens, text: Buffer.concat(pieces).toString(), pieces };
  }

  async #tokensOf(question: TokenQuestion): Promise<number[]> {
    switch (question.kind) {
      case "tokens":
        return question.tokens;
      case "prompt":
        return (await this.build(question.prompt)).tokens;
      case "text": {
        const tokens = await this.#vocabulary.tokenize(question.text, question.special);
        return [...(question.opening ? this.#opening() : []), ...tokens];
      }
    }
  }

  /** The text of a token prompt, for echo. */
  text(tokens: readonly number[]): string {
    return Buffer.concat(tokens.map((token) => this.#vocabulary.piece(token))).toString();
  }

  #opening(): number[] {
    return this.#vocabulary.addBos ? [this.#vocabulary.bos] : [];
  }
}
