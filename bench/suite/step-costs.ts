import { closedLoop } from "../load.ts";
import { promptMaker } from "../prompt.ts";
import type { Random } from "../random.ts";
import { median } from "../statistics.ts";
import { stream } from "../stream.ts";
import type { Target } from "../target.ts";

/** What a step costs, in milliseconds, as a client sees it: `fixed + decode · streams + prefill · prompt tokens`. */
export interface StepCosts {
  fixed: number;
  decode: number;
  prefill: number;
}

/** A step of `streams` decodes took `ms`. */
export interface DecodePoint {
  streams: number;
  ms: number;
}

/** A prompt of `tokens` took `ms` to its first token, alone. */
export interface PromptPoint {
  tokens: number;
  ms: number;
}

/**
 * Fits the costs to what was measured. Least squares of the relative errors: the absolute ones would let the largest
 * step decide what a small one costs. Neither cost is below 0.
 */
export function fitStepCosts(decodes: DecodePoint[], prompts: PromptPoint[]): StepCosts {
  const { at0: fixed, slope: decode } = relativeLine(decodes.map(({ streams, ms }) => ({ x: streams, y: ms })));
  const { slope: prefill } = relativeLine(prompts.map(({ tokens, ms }) => ({ x: tokens, y: ms })));
  return { fixed: Math.max(0, fixed), decode: Math.max(0, decode), prefill: Math.max(0, prefill) };
}

/** The line with the least sum of squared errors relative to y. */
function relativeLine(points: { x: number; y: number }[]): { at0: number; slope: number } {
  let [w, wx, wy, wxx, wxy] = [0, 0, 0, 0, 0];
  for (const { x, y } of points) {
    const weight = 1 / y ** 2;
    w += weight;
    wx += weight * x;
    wy += weight * y;
    wxx += weight * x * x;
    wxy += weight * x * y;
  }
  const slope = (w * wxy - wx * wy) / (w * wxx - wx ** 2);
  return { at0: (wy - slope * wx) / w, slope };
}

const DECODE_STREAMS = [1, 4, 8, 16, 32];
const DECODE_TOKENS = 32;
const PROMPT_TOKENS = [64, 128, 256, 512];

/**
 * Measures an idle server: steady decoding at several numbers of streams, and single prompts of several lengths, as far
 * as `context` holds them.
 */
export async function measureStepCosts(
  target: Target,
  context: number,
  random: Random,
): Promise<{ costs: StepCosts; decodes: DecodePoint[]; prompts: PromptPoint[] }> {
  const make = await promptMaker("completions", target, random);
  const ask = (prompt: number, tokens: number) =>
    stream(target, { ...make(prompt, null, random), max_tokens: tokens, temperature: 0, ignore_eos: true });
  const decodes: DecodePoint[] = [];
  for (const streams of DECODE_STREAMS) {
    // twice as many tokens as counted: while prompts are still read, steps are not of decodes alone
    const { itl } = await closedLoop(streams, 1, () => ask(32, 2 * DECODE_TOKENS));
    decodes.push({ streams, ms: itl.p50 });
  }
  const prompts: PromptPoint[] = [];
  for (const tokens of PROMPT_TOKENS.filter((length) => length < context)) {
    const times = [];
    for (let i = 0; i < 3; i++) times.push((await ask(tokens, 1)).ttft);
    prompts.push({ tokens, ms: median(times) });
  }
  return { costs: fitStepCosts(decodes, prompts), decodes, prompts };
}
