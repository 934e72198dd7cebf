import type { PromptLogprob, RankedLogprob, TokenLogprob } from "../../protocol/output.ts";
import type { LogprobsWanted } from "../../protocol/request.ts";
import { type TopLogits, topLogits } from "../native/sampling/log-softmax.ts";
import type { Vocabulary } from "../native/vocabulary.ts";

export type TokenNames = Pick<Vocabulary, "piece" | "text">;

/** Stands for a probability of nothing, which JSON has no number for; OpenAI's own value. */
const NEVER = -9999;

export interface LogprobTrailParts {
  wanted: LogprobsWanted;
  prompt: readonly number[];
  /** Tokens at the prompt's beginning that its writer did not write. */
  opening: number;
  vocabulary: TokenNames;
}

interface Placed {
  logprob: RankedLogprob;
  /** Where in the answer its text begins. */
  start: number;
}

/**
 * How probable the tokens of one sequence were. A drawn token's entry waits until text of it is sent, so that what is told
 * matches the text: the token that ends an answer, thoughts, and what a stop string cuts off are told nothing of. A token
 * that is cut in its middle is told whole.
 */
export class LogprobTrail {
  readonly #parts: LogprobTrailParts;
  /** Of the prompt's tokens after its opening, in order, as far as they are read. */
  readonly #prompt: PromptLogprob[] = [];
  /** Drawn, and not yet turned into text. */
  readonly #drawn: RankedLogprob[] = [];
  readonly #placed: Placed[] = [];
  /** The row that the next token is drawn from, as it was before anyone wrote into it. */
  #row: Float32Array = new Float32Array(0);
  #best: TopLogits | null = null;
  #promptTold: boolean;

  constructor(parts: LogprobTrailParts) {
    this.#parts = parts;
    this.#promptTold = !parts.wanted.prompt;
    const { prompt, opening } = parts;
    if (opening === 0) this.#prompt.push({ bytes: this.#bytes(prompt[0]!), logprob: null, top: [] });
  }

  /** Whether the logits behind this token of the prompt are wanted: they tell of the token after it, if it is known yet. */
  wants(position: number): boolean {
    const { wanted, prompt, opening } = this.#parts;
    return wanted.prompt && position + 1 < prompt.length && position + 1 >= opening + this.#prompt.length;
  }

  /** Takes the logits behind a token of the prompt. */
  score(position: number, row: Float32Array): void {
    const best = topLogits(row, Math.max(1, this.#parts.wanted.top));
    this.#prompt.push(this.#ranked(this.#parts.prompt[position + 1]!, row, best));
  }

  /**
   * Takes the row that a token will be drawn from.
   *
   * @param written whether somebody will write into it before that
   */
  read(row: Float32Array, written: boolean): void {
    this.#best = topLogits(row, Math.max(1, this.#parts.wanted.top));
    this.#row = written ? row.slice() : row;
  }

  /** Takes the token that was drawn from that row; before the next decode. */
  draw(token: number): void {
    if (this.#best !== null) this.#drawn.push(this.#ranked(token, this.#row, this.#best));
    this.#best = null;
  }

  /**
   * Tells of the first token that is not placed yet where in the answer its text begins.
   *
   * @param part `end` for the token that ends the answer and is no part of it; with a `thought` all that waits is of one,
   * with a `call` all that waits for text from here on
   */
  place(start: number, part: "answer" | "thought" | "call" | "end"): void {
    const logprob = this.#drawn.shift();
    if (part === "thought") this.#placed.length = 0;
    else if (part === "call") while ((this.#placed.at(-1)?.start ?? -1) >= start) this.#placed.pop();
    else if (part === "answer" && logprob !== undefined) this.#placed.push({ logprob, start });
  }

  /** The prompt's, once. */
  takePrompt(): PromptLogprob[] | null {
    if (this.#promptTold) return null;
    this.#promptTold = true;
    return this.#prompt;
  }

  /**
   * What text was sent of.
   *
   * @param sent characters of the answer that were sent
   * @param all whether what was held back was sent too
   */
  take(sent: number, all: boolean): RankedLogprob[] {
    const waiting = all ? -1 : this.#placed.findIndex(({ start }) => start >= sent);
    const count = waiting < 0 ? this.#placed.length : waiting;
    return this.#placed.splice(0, count).map(({ logprob }) => logprob);
  }

  #ranked(token: number, row: Float32Array, { tokens, logits, logSum }: TopLogits): RankedLogprob {
    const named = (id: number, logit: number): TokenLogprob => ({
      bytes: this.#bytes(id),
      logprob: Math.max(NEVER, logit - logSum),
    });
    const top = tokens.slice(0, this.#parts.wanted.top).map((id, i) => named(id, logits[i]!));
    return { ...named(token, row[token]!), top };
  }

  #bytes(token: number): Uint8Array {
    const { vocabulary } = this.#parts;
    const piece = vocabulary.piece(token);
    return piece.length > 0 ? piece : Buffer.from(vocabulary.text(token));
  }
}
