import type { PromptLogprob, RankedLogprob, TokenLogprob } from "../../protocol/output.ts";
import type { LogprobsWanted } from "../../protocol/request.ts";
import { type TopLogits, topLogits } from "../native/sampling/log-softmax.ts";
import type { Vocabulary } from "../native/vocabulary.ts";

export type TokenNames = Pick<Vocabulary, "piece" | "text">;

/** The log probability that stands for −∞, for which JSON has no number; the value of OpenAI. */
const LOWEST = -9999;

export interface SequenceLogprobsParts {
  wanted: LogprobsWanted;
  prompt: readonly number[];
  /** Tokens at the beginning of the prompt that the client did not write. */
  opening: number;
  vocabulary: TokenNames;
}

interface Placed {
  logprob: RankedLogprob;
  /** The position in the answer at which its text begins. */
  start: number;
}

/**
 * The log probabilities of one sequence. A drawn token's entry is kept until text of it is sent, so that entries match the
 * text: there is none for the token that ends an answer, for reasoning, and for text that a stop string cuts off. A token that
 * is cut in its middle has its whole entry.
 */
export class SequenceLogprobs {
  readonly #parts: SequenceLogprobsParts;
  /** Entries of the prompt tokens after its opening, in order, as far as they are computed. */
  readonly #prompt: PromptLogprob[] = [];
  /** Entries of drawn tokens that are not yet text. */
  readonly #drawn: RankedLogprob[] = [];
  readonly #placed: Placed[] = [];
  /** The row from which the next token is drawn, as the model computed it. */
  #row: Float32Array = new Float32Array(0);
  #best: TopLogits | null = null;
  #promptTaken: boolean;

  constructor(parts: SequenceLogprobsParts) {
    this.#parts = parts;
    this.#promptTaken = !parts.wanted.prompt;
    const { prompt, opening } = parts;
    if (opening === 0) this.#prompt.push({ bytes: this.#bytes(prompt[0]!), logprob: null, top: [] });
  }

  /** True where the logits behind this prompt token are needed: they score the token after it, once. */
  needs(position: number): boolean {
    const { wanted, prompt, opening } = this.#parts;
    return wanted.prompt && position + 1 < prompt.length && position + 1 >= opening + this.#prompt.length;
  }

  /** Takes the logits behind a prompt token. */
  score(position: number, row: Float32Array): void {
    const best = topLogits(row, Math.max(1, this.#parts.wanted.top));
    this.#prompt.push(this.#ranked(this.#parts.prompt[position + 1]!, row, best));
  }

  /**
   * Takes the row from which a token will be drawn.
   *
   * @param written whether the row will be changed before that
   */
  read(row: Float32Array, written: boolean): void {
    this.#best = topLogits(row, Math.max(1, this.#parts.wanted.top));
    this.#row = written ? row.slice() : row;
  }

  /** Takes the token that was drawn from that row; called before the next decode. */
  draw(token: number): void {
    if (this.#best !== null) this.#drawn.push(this.#ranked(token, this.#row, this.#best));
    this.#best = null;
  }

  /**
   * Sets the position in the answer of the first token without one.
   *
   * @param part `end` for the token that ends the answer and is no part of it; at a `thought`, all kept entries are of
   * reasoning; at a `call`, the kept entries from this position on are of the call
   */
  place(start: number, part: "answer" | "thought" | "call" | "end"): void {
    const logprob = this.#drawn.shift();
    if (part === "thought") this.#placed.length = 0;
    else if (part === "call") while ((this.#placed.at(-1)?.start ?? -1) >= start) this.#placed.pop();
    else if (part === "answer" && logprob !== undefined) this.#placed.push({ logprob, start });
  }

  /** The entries of the prompt, once; then null. */
  takePrompt(): PromptLogprob[] | null {
    if (this.#promptTaken) return null;
    this.#promptTaken = true;
    return this.#prompt;
  }

  /**
   * The entries whose text was sent.
   *
   * @param sent characters of the answer that were sent
   * @param all whether text that was held back was sent too
   */
  take(sent: number, all: boolean): RankedLogprob[] {
    const waiting = all ? -1 : this.#placed.findIndex(({ start }) => start >= sent);
    const count = waiting < 0 ? this.#placed.length : waiting;
    return this.#placed.splice(0, count).map(({ logprob }) => logprob);
  }

  #ranked(token: number, row: Float32Array, { tokens, logits, logSum }: TopLogits): RankedLogprob {
    const named = (id: number, logit: number): TokenLogprob => ({
      bytes: this.#bytes(id),
      logprob: Math.max(LOWEST, logit - logSum),
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
