import { setTimeout as wait } from "node:timers/promises";
import { Random } from "../base/random.ts";
import { spread } from "../base/statistics.ts";
import { spreadText } from "../base/table.ts";
import { promptMaker, randomUnits } from "../prompts/prompt.ts";
import { call, json } from "../target/call.ts";
import { interleave } from "../target/rounds.ts";
import type { Body } from "../target/stream.ts";
import type { Target } from "../target/target.ts";
import { createBatch, isOver, retrieveBatch } from "./batch-job.ts";

export interface BatchPlan {
  lines: number;
  /** Tokens of each prompt, and how many of them all prompts share. */
  prompt: number;
  shared: number;
  tokens: number;
  /** Numbers of concurrent clients of a peer's loop; each number is one arm. */
  concurrency: number[];
  repeats: number;
  seed: number;
}

export interface BatchRun {
  seconds: number;
  completionTokens: number;
  cachedTokens: number;
}

export interface BatchArm {
  label: string;
  repeats: BatchRun[];
}

interface Usage {
  completion_tokens: number;
  prompt_tokens_details?: { cached_tokens?: number } | null;
}

const POLL_MS = 100;

/**
 * Measures the same prompts as one batch here (from the upload's first byte to the batch's end with its files) and
 * through a plain client's loop at each peer. Every repeat uses new prompts.
 */
export async function measureBatch(
  targets: Target[],
  plan: BatchPlan,
  onDone: (label: string, run: BatchRun) => void,
): Promise<BatchArm[]> {
  const [own, ...peers] = targets;
  const arms = [
    { label: own!.label, run: (bodies: Body[]) => asBatch(own!, bodies) },
    ...peers.flatMap((peer) =>
      plan.concurrency.map((clients) => ({
        label: `${peer.label} × ${clients}`,
        run: (bodies: Body[]) => asLoop(peer, bodies, clients),
      })),
    ),
  ];
  const random = new Random(plan.seed);
  const bodies = async (count: number) => {
    const make = await promptMaker("completions", own!, random);
    const shared = randomUnits("completions", plan.shared, random);
    const settings = { max_tokens: plan.tokens, temperature: 0, ignore_eos: true };
    return Array.from({ length: count }, () => ({ ...make(plan.prompt, shared, random), ...settings }));
  };
  const results = await interleave(arms, plan.repeats, async (arm) => {
    const run = await arm.run(await bodies(plan.lines));
    onDone(arm.label, run);
    return run;
  });
  return arms.map(({ label }, i) => ({ label, repeats: results[i]! }));
}

async function asBatch(target: Target, bodies: Body[]): Promise<BatchRun> {
  const began = performance.now();
  const id = await createBatch(target, bodies);
  for (;;) {
    const batch = await retrieveBatch(target, id);
    if (batch.status === "completed" && batch.request_counts.completed === bodies.length) {
      return {
        seconds: (performance.now() - began) / 1000,
        completionTokens: batch.usage.output_tokens,
        cachedTokens: batch.usage.input_tokens_details.cached_tokens,
      };
    }
    if (isOver(batch)) {
      throw new Error(`${target.label}: the batch ended ${batch.status}, ${batch.request_counts.completed} completed`);
    }
    await wait(POLL_MS);
  }
}

async function asLoop(target: Target, bodies: Body[], clients: number): Promise<BatchRun> {
  let next = 0;
  let completionTokens = 0;
  let cachedTokens = 0;
  const began = performance.now();
  const client = async () => {
    for (let body = bodies[next++]; body !== undefined; body = bodies[next++]) {
      const { path, ...fields } = body;
      const { usage } = await call<{ usage: Usage }>(target, path, json({ model: target.model, ...fields }));
      completionTokens += usage.completion_tokens;
      cachedTokens += usage.prompt_tokens_details?.cached_tokens ?? 0;
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  return { seconds: (performance.now() - began) / 1000, completionTokens, cachedTokens };
}

export const BATCH_HEAD = ["arm", "lines/s", "× best loop", "tokens/s", "cached prompt tokens"];

/** One row per arm. The first arm is this server's batch; it is compared with the fastest loop. */
export function batchRows(arms: BatchArm[], lines: number): string[][] {
  const rate = (arm: BatchArm) => spread(arm.repeats.map((run) => lines / run.seconds));
  const [ours, ...loops] = arms;
  const best = loops.sort((a, b) => rate(b).median - rate(a).median)[0];
  return arms.map((arm) => [
    arm.label,
    spreadText(rate(arm)),
    arm === ours && best ? (rate(arm).median / rate(best).median).toFixed(2) : "",
    spreadText(spread(arm.repeats.map((run) => run.completionTokens / run.seconds))),
    String(spread(arm.repeats.map((run) => run.cachedTokens)).median),
  ]);
}
