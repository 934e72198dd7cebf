import type { Prompt } from "../protocol/prompt.ts";
import type { TokenAnswer, TokenQuestion } from "../protocol/tokens.ts";
import type { Vocabulary } from "./native/vocabulary.ts";
import type { ChatTemplate } from "./text/chat-template.ts";
import { thinkingPlan } from "./text/thinking.ts";
import { answerOf, openingOf, tokenAnswer } from "./token-answer.ts";

export interface BuiltPrompt {
  tokens: number[];
  /** Tokens at the beginning that the client did not write. */
  opening: number;
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
    if (prompt.kind === "tokens") return { tokens: prompt.tokens, opening: 0, ...plain };
    if (prompt.kind === "text") {
      // A plain prompt is the user's from end to end: nothing in it may become a control token.
      const tokens = await this.#vocabulary.tokenize(prompt.text, false);
      const opening = openingOf(this.#vocabulary);
      return { tokens: [...opening, ...tokens], opening: opening.length, ...plain };
    }
    const { variables, budget } = thinkingPlan(prompt.thinking, this.#template.thinking);
    const given = { ...variables, ...prompt.variables };
    const rendered = this.#template.render(prompt.messages, given, this.#now(), prompt.tools);
    const parts = rendered.pieces.map((piece) => this.#vocabulary.tokenize(piece.text, !piece.literal));
    const tokens: number[] = rendered.startsWithBos ? [] : openingOf(this.#vocabulary);
    for (const part of await Promise.all(parts)) for (const token of part) tokens.push(token);
    return { tokens, opening: 0, startsInReasoning: rendered.startsInReasoning, thoughtBudget: budget };
  }

  /** @throws TemplateError when the model's template refuses the messages */
  async answer(question: TokenQuestion): Promise<TokenAnswer> {
    if (question.kind !== "prompt") return answerOf(this.#vocabulary, question);
    return tokenAnswer(this.#vocabulary, (await this.build(question.prompt)).tokens);
  }

  /** The text of a token prompt, for echo. */
  text(tokens: readonly number[]): string {
    return Buffer.concat(tokens.map((token) => this.#vocabulary.piece(token))).toString();
  }
}
