import { setImmediate as nextTurn } from "node:timers/promises";
import type { FromEngine } from "../../protocol/messages.ts";
import type { Prompt } from "../../protocol/prompt.ts";
import { RequestRefusal } from "../../protocol/request-refusal.ts";
import type { TokenAnswer, TokenPieces, TokenQuestion } from "../../protocol/tokenize.ts";
import type { Vocabulary } from "../native/vocabulary.ts";
import { openingOf } from "./prompt-builder.ts";
import type { TextOwner } from "./tokenize-queue.ts";
import type { Tokenizer } from "./tokenizer.ts";

/** Tokens whose bytes are collected before the event loop runs: some milliseconds. */
const READ_AT_ONCE = 4096;

export interface TokenQuestionsParts {
  vocabulary: Pick<Vocabulary, "addBos" | "bos" | "bytes">;
  tokenizer: Pick<Tokenizer, "tokens">;
  /** The tokens of a prompt; null when the question is cancelled meanwhile. @throws RequestRefusal */
  prompt: (prompt: Prompt, owner: TextOwner, anyLength: boolean) => Promise<ArrayLike<number> | null>;
  post: (message: FromEngine) => void;
}

/** Answers questions about tokens. Long texts wait behind those of default requests. */
export class TokenQuestions {
  readonly #parts: TokenQuestionsParts;
  readonly #wanted = new Set<number>();

  constructor(parts: TokenQuestionsParts) {
    this.#parts = parts;
  }

  /** Nothing is posted for a question that is cancelled. */
  async answer(id: number, question: TokenQuestion): Promise<void> {
    this.#wanted.add(id);
    try {
      const answer = await this.#answer(question, { tier: "flex", isWanted: () => this.#wanted.has(id) });
      if (answer !== null) this.#parts.post({ type: "tokenized", id, answer });
    } catch (error) {
      if (!(error instanceof RequestRefusal)) throw error;
      this.#parts.post({ type: "tokenized", id, answer: { error: error.error } });
    } finally {
      this.#wanted.delete(id);
    }
  }

  cancel(id: number): void {
    this.#wanted.delete(id);
  }

  async #answer(question: TokenQuestion, owner: TextOwner): Promise<TokenAnswer | null> {
    const tokens = await this.#tokens(question, owner);
    if (tokens === null || !owner.isWanted()) return null;
    if (!question.pieces) return { tokens, pieces: null };
    const pieces = await this.#pieces(tokens, owner);
    return pieces === null ? null : { tokens, pieces };
  }

  async #tokens(question: TokenQuestion, owner: TextOwner): Promise<Int32Array | null> {
    if (question.kind === "tokens") return Int32Array.from(question.tokens);
    if (question.kind === "prompt") {
      const tokens = await this.#parts.prompt(question.prompt, owner, question.anyLength ?? false);
      return tokens === null ? null : Int32Array.from(tokens);
    }
    const lists = await this.#parts.tokenizer.tokens([question], owner);
    if (lists === null) return null;
    const opening = question.opening ? openingOf(this.#parts.vocabulary) : [];
    const tokens = new Int32Array(opening.length + lists[0]!.length);
    tokens.set(opening);
    tokens.set(lists[0]!, opening.length);
    return tokens;
  }

  async #pieces(tokens: Int32Array, { isWanted }: TextOwner): Promise<TokenPieces | null> {
    const ends = new Uint32Array(tokens.length);
    const parts: Buffer[] = [];
    let end = 0;
    for (let first = 0; first < tokens.length; first += READ_AT_ONCE) {
      const some = Array.from(tokens.subarray(first, first + READ_AT_ONCE), (token) =>
        this.#parts.vocabulary.bytes(token),
      );
      for (const [i, { length }] of some.entries()) {
        end += length;
        ends[first + i] = end;
      }
      parts.push(Buffer.concat(some));
      await nextTurn();
      if (!isWanted()) return null;
    }
    return { bytes: Buffer.concat(parts), ends };
  }
}
