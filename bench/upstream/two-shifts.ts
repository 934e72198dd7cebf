import { setTimeout as wait } from "node:timers/promises";
import { Random } from "../base/random.ts";
import { median, type Spread, spread } from "../base/statistics.ts";
import { figure, spreadText } from "../base/table.ts";
import { createBatch, isOver, retrieveBatch } from "../batch/batch-job.ts";
import { promptMaker } from "../prompts/prompt.ts";
import { gamma } from "../suite/load/gamma.ts";
import { type OpenLoopResult, openLoop } from "../suite/load/open-loop.ts";
import { call } from "../target/call.ts";
import { type Body, stream } from "../target/stream.ts";
import type { Target } from "../target/target.ts";

export interface UpstreamPlan {
  /** Online requests per second, with exponential gaps. */
  rate: number;
  seconds: number;
  /** Tokens of each prompt, and of each answer. */
  prompt: number;
  tokens: number;
  /** Concurrent requests of the client that is not limited. */
  ungated: number;
  repeats: number;
  seed: number;
}

/** The work beside the online requests. */
export const BESIDE = ["nothing", "batch", "ungated client"] as const;
export type Beside = (typeof BESIDE)[number];

export interface UpstreamRound {
  online: OpenLoopResult;
  /** Tokens of the other work per second, while the online requests ran; and before they came. */
  otherTokensPerSecond: number;
  aloneTokensPerSecond: number;
}

export interface UpstreamArm {
  beside: Beside;
  rounds: UpstreamRound[];
}

/** Milliseconds for which other work runs before it is measured, and then before the online requests come. */
const LEAD_MS = 5000;
const ALONE_MS = 10_000;

/**
 * The same online requests to this server, which has the other as its upstream: alone, beside a batch of this server, and
 * beside a client that sends to the upstream itself. Rounds are interleaved.
 */
export async function measureUpstream(
  ours: Target,
  upstream: Target,
  plan: UpstreamPlan,
  onDone: (beside: Beside, round: UpstreamRound) => void,
): Promise<UpstreamArm[]> {
  const arms = BESIDE.map((beside): UpstreamArm => ({ beside, rounds: [] }));
  const random = new Random(plan.seed);
  const make = await promptMaker("completions", ours, random);
  const settings = { max_tokens: plan.tokens, temperature: 0, ignore_eos: true };
  const body = (): Body => ({ ...make(plan.prompt, null, random), ...settings });
  const online = () => {
    const dueMs: number[] = [];
    for (let at = 0; at < plan.seconds * 1000; at += (gamma(1, random) * 1000) / plan.rate) dueMs.push(at);
    const bodies = dueMs.map(body);
    return openLoop(dueMs, (index) => stream(ours, bodies[index]!));
  };
  for (let repeat = 0; repeat < plan.repeats; repeat++) {
    for (const { beside, rounds } of repeat % 2 === 0 ? arms : arms.toReversed()) {
      const round = await { nothing, batch, "ungated client": ungated }[beside]();
      rounds.push(round);
      onDone(beside, round);
    }
  }
  return arms;

  async function nothing(): Promise<UpstreamRound> {
    return { online: await online(), otherTokensPerSecond: 0, aloneTokensPerSecond: 0 };
  }

  async function batch(): Promise<UpstreamRound> {
    // More than the upstream can do in the time.
    const id = await createBatch(ours, Array.from({ length: 20 * plan.ungated + 50 * plan.seconds }, body));
    const rates = await besideOnline(async () => (await retrieveBatch(ours, id)).usage.output_tokens);
    await call(ours, `batches/${id}/cancel`, { method: "POST" });
    while (!isOver(await retrieveBatch(ours, id))) await wait(200);
    return rates;
  }

  async function ungated(): Promise<UpstreamRound> {
    let tokens = 0;
    let over = false;
    const client = async () => {
      while (!over) {
        const { completionTokens } = await stream(upstream, body());
        tokens += completionTokens;
      }
    };
    const clients = Array.from({ length: plan.ungated }, client);
    const rates = await besideOnline(async () => tokens);
    over = true;
    await Promise.all(clients);
    return rates;
  }

  /** The other work alone, and then the online requests beside it. @param tokens of the other work until now */
  async function besideOnline(tokens: () => Promise<number>): Promise<UpstreamRound> {
    await wait(LEAD_MS);
    const alone = await rateOf(tokens, () => wait(ALONE_MS));
    const beside = await rateOf(tokens, online);
    return { online: beside.result, otherTokensPerSecond: beside.rate, aloneTokensPerSecond: alone.rate };
  }
}

async function rateOf<T>(
  tokens: () => Promise<number>,
  during: () => Promise<T>,
): Promise<{ result: T; rate: number }> {
  const [before, from] = [await tokens(), performance.now()];
  const result = await during();
  return { result, rate: ((await tokens()) - before) / ((performance.now() - from) / 1000) };
}

/** The share of the time in which no online request was in flight. */
function idleShare({ samples, seconds }: OpenLoopResult): number {
  const spans = samples.flatMap((sample) => (sample === null ? [] : [[sample.sentAt, sample.endedAt] as const]));
  let [busyMs, until] = [0, Number.NEGATIVE_INFINITY];
  for (const [from, to] of spans.sort((a, b) => a[0] - b[0])) {
    busyMs += Math.max(0, to - Math.max(from, until));
    until = Math.max(until, to);
  }
  return 1 - busyMs / (seconds * 1000);
}

export const UPSTREAM_HEAD = [
  "beside",
  "requests",
  "TTFT p50 ms",
  "TTFT p99 ms",
  "× alone",
  "ITL p99 ms",
  "other tokens/s",
  "alone tokens/s",
  "of what is left",
];

/**
 * One row per arm; ratios are those of the medians. What online requests leave: the rate of the other work alone, for the share of
 * the time in which no online request is in flight when these are alone.
 */
export function upstreamRows(arms: readonly UpstreamArm[]): string[][] {
  const over = (arm: UpstreamArm, read: (round: UpstreamRound) => number): Spread => spread(arm.rounds.map(read));
  const p99 = (arm: UpstreamArm) => over(arm, ({ online }) => online.ttft.p99);
  const idle = median(arms[0]!.rounds.map(({ online }) => idleShare(online)));
  const ofLeft = ({ otherTokensPerSecond: got, aloneTokensPerSecond: alone }: UpstreamRound) => got / (alone * idle);
  return arms.map((arm) => [
    arm.beside,
    figure(median(arm.rounds.map(({ online }) => online.requests))),
    spreadText(over(arm, ({ online }) => online.ttft.p50)),
    spreadText(p99(arm)),
    figure(p99(arm).median / p99(arms[0]!).median),
    spreadText(over(arm, ({ online }) => online.itl.p99)),
    ...(arm.beside === "nothing"
      ? ["", "", ""]
      : [
          spreadText(over(arm, ({ otherTokensPerSecond }) => otherTokensPerSecond)),
          spreadText(over(arm, ({ aloneTokensPerSecond }) => aloneTokensPerSecond)),
          figure(median(arm.rounds.map(ofLeft))),
        ]),
  ]);
}
