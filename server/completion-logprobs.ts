import type { PromptLogprob } from "../engine/protocol/output.ts";
import type { CompletionLogprobs } from "../openapi/logprobs.ts";
import { tokenName } from "./token-name.ts";

/** What stands before the bytes of a token that is no whole characters. */
const MARK = "bytes:";

/** One choice's tokens as completions write them; for a stream piece by piece, with offsets that go on. */
export class CompletionTokens {
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  #offset = 0;

  add(tokens: readonly PromptLogprob[]): CompletionLogprobs {
    const written: CompletionLogprobs = { tokens: [], token_logprobs: [], top_logprobs: [], text_offset: [] };
    for (const { bytes, logprob, top } of tokens) {
      const name = tokenName(bytes, MARK);
      written.tokens.push(name);
      written.token_logprobs.push(logprob);
      const best = top.map((other): [string, number] => [tokenName(other.bytes, MARK), other.logprob]);
      written.top_logprobs.push(logprob === null ? null : { ...Object.fromEntries(best), [name]: logprob });
      written.text_offset.push(this.#offset);
      this.#offset += [...this.#decoder.decode(bytes, { stream: true })].length;
    }
    return written;
  }
}
