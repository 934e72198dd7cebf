import { Random } from "../base/random.ts";
import { type Endpoint, promptMaker } from "../prompts/prompt.ts";
import { residentMemory } from "../target/memory.ts";
import { stream } from "../target/stream.ts";
import type { Target } from "../target/target.ts";
import type { MemorySample } from "./memory-trend.ts";

export interface SoakPlan {
  requests: number;
  /** Concurrent clients. */
  concurrency: number;
  endpoint: Endpoint;
  seed: number;
}

export interface SoakResult {
  samples: MemorySample[];
  failures: string[];
  seconds: number;
  completionTokens: number;
}

/** Prompts and answers are short and of varying length, like chats. */
const PROMPT = { from: 24, to: 96 };
const TOKENS = { from: 2, to: 24 };
const SAMPLES = 20;

/**
 * Sends short requests and samples the memory of process `pid` at the start, twenty times during the run, and at the
 * end.
 */
export async function soak(
  target: Target,
  pid: number,
  plan: SoakPlan,
  onSample: (sample: MemorySample) => void,
): Promise<SoakResult> {
  const random = new Random(plan.seed);
  const make = await promptMaker(plan.endpoint, target, random);
  const samples: MemorySample[] = [];
  const failures: string[] = [];
  const every = Math.max(1, Math.floor(plan.requests / SAMPLES));
  let begun = 0;
  let ended = 0;
  let completionTokens = 0;
  const sampleMemory = async () => {
    const sample = { requests: ended, processes: await residentMemory(pid) };
    samples.push(sample);
    onSample(sample);
  };
  await sampleMemory();
  const from = performance.now();
  const client = async () => {
    while (begun < plan.requests) {
      begun++;
      const length = random.integer(PROMPT.from, PROMPT.to);
      const tokens = random.integer(TOKENS.from, TOKENS.to);
      const body = { ...make(length, null, random), max_tokens: tokens, temperature: 0.7, ignore_eos: true };
      try {
        const { completionTokens: generated } = await stream(target, body);
        completionTokens += generated;
      } catch (error) {
        failures.push(error instanceof Error ? error.message : String(error));
      }
      if (++ended % every === 0) await sampleMemory();
    }
  };
  await Promise.all(Array.from({ length: plan.concurrency }, client));
  return { samples, failures, seconds: (performance.now() - from) / 1000, completionTokens };
}
