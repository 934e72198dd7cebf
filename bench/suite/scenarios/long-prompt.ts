import { setTimeout as wait } from "node:timers/promises";
import { Random } from "../../base/random.ts";
import { distribution, median, type Spread, spread } from "../../base/statistics.ts";
import { figure, spreadText } from "../../base/table.ts";
import { type PromptMaker, promptMaker } from "../../prompts/prompt.ts";
import { interleave } from "../../target/rounds.ts";
import { stream } from "../../target/stream.ts";
import type { Target } from "../../target/target.ts";
import { bestArm } from "../best-arm.ts";
import { type Goal, goal, type Laboratory, type Scenario, type Section } from "../scenario.ts";

/** Stalls of streams beside a long prompt, and the prompt's TTFT beside the streams. */
export const longPrompt: Scenario = { name: "long-prompt", title: "Long-prompt stall", run };

const PROMPT = 64;
const LONG_TOKENS = 4;
/** Milliseconds until all streams decode. */
const SETTLE_MS = 1500;

async function run(lab: Laboratory): Promise<Section> {
  const plan = lab.preset.longPrompt;
  const ours = [lab.own];
  const targets = [...ours, ...lab.peers];
  const random = new Random(lab.seed, 3);
  const repeats = await interleave(targets, lab.repeats, async (target) => {
    const result = await oneRun(target, lab, random);
    lab.say(`long prompt, ${target.label}: worst ITL ${figure(result.itl.max)} ms, TTFT ${figure(result.ttft)} ms`);
    return result;
  });
  const arms = targets.map(({ label }, i) => ({ label, repeats: repeats[i]! }));
  type Arm = (typeof arms)[number];
  const worst = (arm: Arm) => spread(arm.repeats.map(({ itl }) => itl.max));
  const ttft = (arm: Arm) => spread(arm.repeats.map((repeat) => repeat.ttft));
  const peers = arms.slice(ours.length);
  const stiffest = bestArm(peers, (arm) => worst(arm).median, "least");
  const fastest = bestArm(peers, (arm) => ttft(arm).median, "least");
  return {
    about:
      `${plan.decoders} streams decode; every ${plan.everyMs / 1000} s a prompt of ${plan.prompt} tokens arrives beside ` +
      `them, ${plan.times} in all. Worst ITL: the longest gap of any of the streams; each ratio is to the best peer in that column. ` +
      "The prompt's time is bounded by what the ITL objective (slo-itl-ms, derived unless set) leaves of each gap.",
    head: ["server", "worst ITL ms", "ITL p99 ms", "ITL p50 ms", "TTFT of the long prompt ms"],
    rows: arms.map((arm) => [
      arm.label,
      spreadText(worst(arm)),
      spreadText(spread(arm.repeats.map(({ itl }) => itl.p99))),
      spreadText(spread(arm.repeats.map(({ itl }) => itl.p50))),
      spreadText(ttft(arm)),
    ]),
    goals: arms.slice(0, ours.length).flatMap((arm) => {
      const goals: Goal[] = [];
      const of = (what: string, value: (arm: Arm) => Spread, peer: Arm, bound: number) =>
        goals.push(
          goal(`${what} of ${arm.label}, of ${peer.label}'s`, value(arm).median / value(peer).median, "≤", bound, " ×"),
        );
      if (stiffest) of("worst ITL", worst, stiffest, 0.35);
      if (fastest) of("TTFT of the long prompt", ttft, fastest, 1.25);
      return goals;
    }),
    figures: [],
    warnings: [],
    data: { plan, arms },
  };
}

async function oneRun(target: Target, { preset }: Laboratory, random: Random) {
  const { decoders, prompt, everyMs, times } = preset.longPrompt;
  const make = await promptMaker("completions", target, random);
  const abort = new AbortController();
  const streams = Promise.all(
    Array.from({ length: decoders }, () => endless(target, make, preset.context - PROMPT - 1, random, abort.signal)),
  );
  // awaited below; this keeps an earlier failure from being unhandled
  streams.catch(() => {});
  await wait(SETTLE_MS);
  const from = performance.now();
  const long = [];
  for (let i = 0; i < times; i++) {
    const due = wait(everyMs);
    const body = { ...make(prompt, null, random), max_tokens: LONG_TOKENS, temperature: 0, ignore_eos: true };
    long.push((await stream(target, body)).ttft);
    await due;
  }
  abort.abort();
  const gaps = (await streams).flatMap((events) =>
    events.slice(1).flatMap((at, i) => (at >= from ? [at - events[i]!] : [])),
  );
  return { itl: distribution(gaps), ttft: median(long), ttfts: long };
}

/** Streams one after the other until the signal; returns the times of all text. Rejects when one fails before. */
async function endless(
  target: Target,
  make: PromptMaker,
  tokens: number,
  random: Random,
  signal: AbortSignal,
): Promise<number[]> {
  const events: number[] = [];
  try {
    for (;;) {
      const body = { ...make(PROMPT, null, random), max_tokens: tokens, temperature: 0, ignore_eos: true };
      await stream(target, body, { signal, onText: (at) => events.push(at) });
    }
  } catch (error) {
    if (signal.aborted) return events;
    throw error;
  }
}
