import type { Random } from "../base/random.ts";
import { type Spread, spread } from "../base/statistics.ts";
import { spreadText } from "../base/table.ts";
import { randomUnits } from "../prompts/prompt.ts";
import { call, json } from "../target/call.ts";
import { interleave } from "../target/rounds.ts";
import type { Target } from "../target/target.ts";

export interface EmbeddingsPlan {
  /** Inputs of one measurement, and tokens of each. */
  inputs: number;
  length: number;
  /** Concurrent clients of the arm with one input per request. */
  clients: number;
  repeats: number;
}

/** Ways to send the inputs: one request after the other, by several concurrent clients, or all in one request. */
const WAYS = ["one at a time", "at once", "in one request"] as const;
export type Way = (typeof WAYS)[number];

export interface EmbeddingsArm {
  label: string;
  way: Way;
  /** Inputs per second of each repeat. */
  rates: number[];
}

interface Answer {
  data: { embedding: string }[];
}

/** Measures every way at every server, interleaved; no input is used twice. */
export async function measureEmbeddings(
  targets: readonly Target[],
  plan: EmbeddingsPlan,
  random: Random,
  onDone: (arm: EmbeddingsArm) => void,
): Promise<EmbeddingsArm[]> {
  const arms = targets.flatMap((target) => WAYS.map((way) => ({ target, way })));
  const drawn = () => Array.from({ length: plan.inputs }, () => randomUnits("completions", plan.length, random));
  // The first request makes the server allocate its embedding context.
  for (const target of targets) await embed(target, drawn());
  const rates = await interleave(arms, plan.repeats, async ({ target, way }) => {
    const inputs = drawn();
    const began = performance.now();
    await send(target, inputs, way, plan.clients);
    return (plan.inputs * 1000) / (performance.now() - began);
  });
  return arms.map(({ target, way }, i) => {
    const arm = { label: target.label, way, rates: rates[i]! };
    onDone(arm);
    return arm;
  });
}

async function send(target: Target, inputs: number[][], way: Way, clients: number): Promise<void> {
  if (way === "in one request") return embed(target, inputs);
  const waiting = [...inputs];
  const client = async () => {
    for (let input = waiting.pop(); input !== undefined; input = waiting.pop()) await embed(target, [input]);
  };
  await Promise.all(Array.from({ length: way === "at once" ? clients : 1 }, client));
}

async function embed(target: Target, input: number[][]): Promise<void> {
  const body = { model: target.model, input, encoding_format: "base64" };
  const { data } = await call<Answer>(target, "embeddings", json(body));
  if (data.length !== input.length)
    throw new Error(`${target.label}: ${data.length} vectors for ${input.length} inputs`);
}

export const EMBEDDINGS_HEAD = ["sent", "server", "inputs/s", "× one at a time"];

/** One row per arm; ratios are of repeats of the same round. */
export function embeddingsRows(arms: readonly EmbeddingsArm[]): string[][] {
  return arms.map((arm) => [arm.way, arm.label, spreadText(spread(arm.rates)), spreadText(gain(arms, arm))]);
}

/** Speed-up over one at a time on the same server. */
export function gain(arms: readonly EmbeddingsArm[], { label, rates }: EmbeddingsArm): Spread {
  const single = arms.find((arm) => arm.label === label && arm.way === WAYS[0]);
  return spread(rates.map((rate, repeat) => rate / (single?.rates[repeat] ?? Number.NaN)));
}
