import { Random } from "../base/random.ts";
import { call, json } from "../target/call.ts";
import type { Target } from "../target/target.ts";
import { NEUTRAL, SETTINGS } from "./settings.ts";

export interface SamplersPlan {
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
  /** Prompts whose answers differ, with both texts. */
  differences: string[];
}

interface Completion {
  choices: { text: string }[];
}

export const SAMPLERS_HEAD = ["setting", "requests", "equal", "changed by it"];

const TOPICS = ["a fox", "the sea", "a long winter", "two friends", "an old clock", "the night train"];
const BEGINNINGS = ["Tell me a story about", "List what you know of", "Repeat and repeat again:", "Write a poem about"];

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
  { requests, tokens, seed }: SamplersPlan,
  onSetting: (counts: SamplerCounts) => void,
): Promise<SamplerCounts[]> {
  const random = new Random(seed);
  const pick = (from: readonly string[]) => from[random.integer(0, from.length - 1)]!;
  const prompts = Array.from({ length: requests }, (_, i) => ({
    prompt: repetitive(`${pick(BEGINNINGS)} ${pick(TOPICS)} and ${pick(TOPICS)}.`, random),
    seed: seed * 1000 + i,
  }));
  const text = async (target: Target, fields: object) => {
    const body = { model: target.model, ...NEUTRAL, max_tokens: tokens, ...fields };
    return (await call<Completion>(target, "completions", json(body))).choices[0]!.text;
  };
  const all: SamplerCounts[] = [];
  for (const [setting, fields] of Object.entries(SETTINGS)) {
    const counts: SamplerCounts = { setting, requests, equal: 0, changed: 0, differences: [] };
    for (const prompt of prompts) {
      const [own, theirs] = [await text(ours, { ...prompt, ...fields }), await text(peer, { ...prompt, ...fields })];
      if (own === theirs) counts.equal++;
      else counts.differences.push(JSON.stringify({ ...prompt, own, theirs }));
      const plain = { temperature: "temperature" in fields ? fields.temperature : 1 };
      if (own !== (await text(ours, { ...prompt, ...plain }))) counts.changed++;
    }
    all.push(counts);
    onSetting(counts);
  }
  return all;
}

export function samplersRow({ setting, requests, equal, changed }: SamplerCounts): string[] {
  return [setting, String(requests), String(equal), String(changed)];
}
