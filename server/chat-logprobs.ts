import type { RankedLogprob, TokenLogprob } from "../engine/protocol/output.ts";
import type { ChatLogprobs } from "../openapi/logprobs.ts";
import { tokenName } from "./token-name.ts";

/** As chat completions write them. */
export function chatLogprobs(tokens: readonly RankedLogprob[]): ChatLogprobs {
  return { content: tokens.map((token) => ({ ...named(token), top_logprobs: token.top.map(named) })), refusal: null };
}

function named({ bytes, logprob }: TokenLogprob) {
  return { token: tokenName(bytes), logprob, bytes: [...bytes] };
}
