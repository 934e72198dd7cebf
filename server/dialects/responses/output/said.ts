import type { RankedLogprob, TokenLogprob } from "../../../../engine/protocol/output.ts";
import type { TextDelta } from "../../../generation/output/stream-format.ts";

type Stored<Token> = Token extends { bytes: Uint8Array } ? Omit<Token, "bytes"> & { bytes: string } : never;
type StoredLogprob = Stored<TokenLogprob> & { top: Stored<TokenLogprob>[] };
type StoredDelta = Omit<Partial<TextDelta>, "logprobs"> & { logprobs?: StoredLogprob[] };

/** Outputs of steps as JSON, without their empty fields: far less than the events that are written from them. */
export function storedSaid(said: readonly TextDelta[]): string {
  return JSON.stringify(said.map(storedDelta));
}

export function readSaid(text: string): TextDelta[] {
  const said: StoredDelta[] = JSON.parse(text);
  return said.map(({ text = "", reasoning = "", toolCalls, logprobs }) => ({
    text,
    reasoning,
    ...(toolCalls !== undefined && { toolCalls }),
    ...(logprobs !== undefined && { logprobs: logprobs.map(readLogprob) }),
  }));
}

function storedDelta({ text, reasoning, toolCalls = [], logprobs = [] }: TextDelta): StoredDelta {
  return {
    ...(text !== "" && { text }),
    ...(reasoning !== "" && { reasoning }),
    ...(toolCalls.length > 0 && { toolCalls }),
    ...(logprobs.length > 0 && { logprobs: logprobs.map(storedLogprob) }),
  };
}

/** A token may be half a character, which JSON has no text for. */
function storedLogprob({ top, ...token }: RankedLogprob): StoredLogprob {
  return { ...storedToken(token), top: top.map(storedToken) };
}

function storedToken({ bytes, logprob }: TokenLogprob): Stored<TokenLogprob> {
  return { bytes: Buffer.from(bytes).toString("base64"), logprob };
}

function readLogprob({ top, ...token }: StoredLogprob): RankedLogprob {
  return { ...readToken(token), top: top.map(readToken) };
}

function readToken({ bytes, logprob }: Stored<TokenLogprob>): TokenLogprob {
  return { bytes: Buffer.from(bytes, "base64"), logprob };
}
