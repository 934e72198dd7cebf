import { Random } from "../base/random.ts";
import { call, json } from "../target/call.ts";
import type { Target } from "../target/target.ts";
import { type Difference, differenceText, firstDifference, type Logprobs, scoredTokens } from "./scored-tokens.ts";
import { NEUTRAL, peerFields, plainFields, type Setting } from "./settings.ts";

export interface SamplersPlan {
  settings: Readonly<Record<string, Setting>>;
  /** Requests of each setting. */
  requests: number;
  tokens: number;
  seed: number;
}

/** The answers of one setting. */
export interface SamplerCounts {
  setting: string;
  requests: number;
  /** Answers with the same text at both servers. */
  equal: number;
  /** Answers that differ from the same server's answer without the setting. */
  changed: number;
  /** Prompts whose answers differ. */
  differences: TextDifference[];
}

interface TextDifference {
  request: Setting;
  own: string;
  theirs: string;
  /** Of the same requests sent again for log probabilities; null if these answers were equal. */
  first: Difference | null;
}

interface Completion {
  choices: { text: string; logprobs: Logprobs | null }[];
}

export const SAMPLERS_HEAD = ["setting", "requests", "equal", "changed by it"];

const TOPICS = ["a fox", "the sea", "a long winter", "two friends", "an old clock", "the night train"];
const BEGINNINGS = ["Tell me a story about", "List what you know of", "Repeat and repeat again:", "Write a poem about"];
/** The most that completions report. */
const BEST = 5;

/** A text whose sentences recur, for penalties and DRY, and which ends within one of them. */
function repetitive(sentence: string, random: Random): string {
  const text = `${sentence} ${sentence}\n`.repeat(random.integer(1, 4));
  return text.slice(0, text.length - random.integer(2, sentence.length));
}

/**
 * Sends the same prompts with the same seeds to both servers, one request at a time. The last bits of logits depend on the
 * build of llama.cpp and on the content of a step, and with them now and then a token: answers without a sampler show how
 * often.
 */
export async function compareSamplers(
  [ours, peer]: readonly [Target, Target],
  { settings, requests, tokens, seed }: SamplersPlan,
  onSetting: (counts: SamplerCounts) => void,
): Promise<SamplerCounts[]> {
  const random = new Random(seed);
  const pick = (from: readonly string[]) => from[random.integer(0, from.length - 1)]!;
  const prompts = Array.from({ length: requests }, (_, i) => ({
    prompt: repetitive(`${pick(BEGINNINGS)} ${pick(TOPICS)} and ${pick(TOPICS)}.`, random),
    seed: seed * 1000 + i,
  }));
  const answer = async (target: Target, fields: Setting) => {
    const body = { model: target.model, ...NEUTRAL, max_tokens: tokens, ...fields };
    return (await call<Completion>(target, "completions", json(body))).choices[0]!;
  };
  const plainTexts = new Map<string, string>();
  const plainText = async (fields: Setting) => {
    const key = JSON.stringify(fields);
    const text = plainTexts.get(key) ?? (await answer(ours, fields)).text;
    plainTexts.set(key, text);
    return text;
  };
  const difference = async (request: Setting) => {
    const scored = { ...request, logprobs: BEST };
    const [own, theirs] = [await answer(ours, scored), await answer(peer, peerFields(scored))];
    if (own.logprobs === null || theirs.logprobs === null) throw new Error("an answer has no log probabilities");
    return firstDifference(scoredTokens(own.logprobs), scoredTokens(theirs.logprobs));
  };
  const all: SamplerCounts[] = [];
  for (const [setting, fields] of Object.entries(settings)) {
    const counts: SamplerCounts = { setting, requests, equal: 0, changed: 0, differences: [] };
    for (const prompt of prompts) {
      const request = { ...prompt, ...fields };
      const [own, theirs] = [(await answer(ours, request)).text, (await answer(peer, peerFields(request))).text];
      if (own === theirs) counts.equal++;
      else counts.differences.push({ request, own, theirs, first: await difference(request) });
      if (own !== (await plainText({ ...prompt, ...plainFields(fields) }))) counts.changed++;
    }
    all.push(counts);
    onSetting(counts);
  }
  return all;
}

export function samplersRow({ setting, requests, equal, changed }: SamplerCounts): string[] {
  return [setting, String(requests), String(equal), String(changed)];
}

/** A line for each prompt whose answers differ. */
export function differenceLines({ setting, differences }: SamplerCounts): string[] {
  return differences.map(({ request, first }) => {
    const how = first === null ? "equal when sent again" : differenceText(first);
    return `${setting}, seed ${request.seed}: ${how}`;
  });
}
