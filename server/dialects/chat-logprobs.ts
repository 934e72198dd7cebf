import type { RankedLogprob, TokenLogprob } from "../../engine/protocol/output.ts";
import type { ChatLogprobs } from "../../openapi/generation/logprobs.ts";
import { LateList, type Unwritten } from "../../openapi/json/json-pieces.ts";
import { tokenName } from "./token-text.ts";

/** Log probabilities in the format of chat completions. */
export function chatLogprobs(tokens: readonly RankedLogprob[]): ChatLogprobs {
  return { content: tokens.map(ranked), refusal: null };
}

/** The same for many tokens, written late, in slices. */
export function lateChatLogprobs(tokens: readonly RankedLogprob[]): Unwritten<ChatLogprobs> {
  return { content: new LateList(tokens, ranked), refusal: null };
}

function ranked(token: RankedLogprob): ChatLogprobs["content"][number] {
  return { ...named(token), top_logprobs: token.top.map(named) };
}

function named({ bytes, logprob }: TokenLogprob) {
  return { token: tokenName(bytes), logprob, bytes: [...bytes] };
}
