import type { Random } from "../base/random.ts";
import { type Body, stream } from "../target/stream.ts";
import type { Target } from "../target/target.ts";

export type Endpoint = "completions" | "chat";

/** Makes the body of a request with a prompt of about `tokens` tokens, which begins with `shared`. */
export type PromptMaker = (tokens: number, shared: Shared | null, random: Random) => Body;

/** A prefix of several prompts, in the maker's units: token ids or digits. */
export type Shared = readonly number[];

/** Ids of ordinary tokens in every vocabulary in use: after the bytes, below the last of the tiny models. */
const IDS = { from: 264, to: 499 };

export function randomUnits(endpoint: Endpoint, count: number, random: Random): number[] {
  const { from, to } = endpoint === "completions" ? IDS : { from: 0, to: 9 };
  return Array.from({ length: count }, () => random.integer(from, to));
}

/**
 * Completions take the prompt as token ids: the same exact number of tokens on every server. Chat takes text through
 * each server's template. The text consists of digits, because nearly every tokenizer encodes numbers digit by digit;
 * two probes measure the tokens per digit and of the template, and the lengths are corrected by them.
 */
export async function promptMaker(endpoint: Endpoint, target: Target, random: Random): Promise<PromptMaker> {
  if (endpoint === "completions") {
    return (tokens, shared, from) => ({
      path: "completions",
      prompt: [...(shared ?? []), ...randomUnits(endpoint, tokens - (shared?.length ?? 0), from)],
    });
  }
  const short = await promptTokens(target, randomUnits(endpoint, 32, random));
  const long = await promptTokens(target, randomUnits(endpoint, 96, random));
  const perDigit = (long - short) / 64;
  const template = short - 32 * perDigit;
  return (tokens, shared, from) => {
    const digits = Math.max(1, Math.round((tokens - template) / perDigit));
    const own = Math.max(1, digits - (shared?.length ?? 0));
    return chat([...(shared ?? []), ...randomUnits(endpoint, own, from)]);
  };
}

function chat(digits: readonly number[]): Body {
  return { path: "chat/completions", messages: [{ role: "user", content: digits.join("") }] };
}

async function promptTokens(target: Target, digits: number[]): Promise<number> {
  return (await stream(target, { ...chat(digits), max_tokens: 1, ignore_eos: true })).promptTokens;
}
