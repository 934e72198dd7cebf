import type { Random } from "../../base/random.ts";
import { promptMaker } from "../../prompts/prompt.ts";
import type { Body } from "../../target/stream.ts";
import type { Target } from "../../target/target.ts";
import type { Arrival } from "./traffic.ts";

/**
 * The request bodies of arrivals in their order: greedy, with exactly the prompt and output tokens of each. They are
 * built before the first is due, so that the client's work delays none.
 */
export async function arrivalBodies(arrivals: readonly Arrival[], target: Target, random: Random): Promise<Body[]> {
  const make = await promptMaker("completions", target, random);
  return arrivals.map(({ prompt, tokens }) => ({
    ...make(prompt, null, random),
    max_tokens: tokens,
    temperature: 0,
    ignore_eos: true,
  }));
}
