import type { PromptLogprob } from "../../engine/protocol/output.ts";
import type { CompletionLogprobs } from "../../openapi/generation/logprobs.ts";
import { LateList, type Unwritten } from "../../openapi/json/json-pieces.ts";
import { tokenName } from "./token-text.ts";

/** The prefix of a token whose bytes are not whole characters. */
const MARK = "bytes:";

/** Offsets of tokens in Unicode characters; they continue over the pieces of a stream. */
class Offsets {
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  #offset = 0;

  next(bytes: Uint8Array): number {
    const offset = this.#offset;
    this.#offset += [...this.#decoder.decode(bytes, { stream: true })].length;
    return offset;
  }
}

/** Log probabilities of one choice in the format of completions. */
export class CompletionTokens {
  readonly #offsets = new Offsets();

  add(tokens: readonly PromptLogprob[]): CompletionLogprobs {
    return {
      tokens: tokens.map(nameOf),
      token_logprobs: tokens.map(({ logprob }) => logprob),
      top_logprobs: tokens.map(bestOf),
      text_offset: tokens.map(({ bytes }) => this.#offsets.next(bytes)),
    };
  }
}

/** All tokens of a choice, which may be many; written late, in slices. */
export function lateCompletionLogprobs(tokens: readonly PromptLogprob[]): Unwritten<CompletionLogprobs> {
  const offsets = new Offsets();
  return {
    tokens: new LateList(tokens, nameOf),
    token_logprobs: new LateList(tokens, ({ logprob }) => logprob),
    top_logprobs: new LateList(tokens, bestOf),
    text_offset: new LateList(tokens, ({ bytes }) => offsets.next(bytes)),
  };
}

function nameOf({ bytes }: PromptLogprob): string {
  return tokenName(bytes, MARK);
}

function bestOf({ bytes, logprob, top }: PromptLogprob): Record<string, number> | null {
  if (logprob === null) return null;
  const best = top.map((other): [string, number] => [tokenName(other.bytes, MARK), other.logprob]);
  return { ...Object.fromEntries(best), [tokenName(bytes, MARK)]: logprob };
}
