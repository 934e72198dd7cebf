import { setTimeout as wait } from "node:timers/promises";
import { Random } from "../../base/random.ts";
import { median, quantile, type Spread, spread } from "../../base/statistics.ts";
import { figure, spreadText } from "../../base/table.ts";
import { interleave } from "../../target/rounds.ts";
import { HttpFailure, stream } from "../../target/stream.ts";
import type { Target } from "../../target/target.ts";
import { arrivalBodies } from "../load/arrival-bodies.ts";
import { openLoop } from "../load/open-loop.ts";
import type { Arrival } from "../load/traffic.ts";
import type { Laboratory, Scenario, Section } from "../scenario.ts";

/** More arrivals than the capacity: rejections, their Retry-After, and the latency of admitted requests. */
export const overload: Scenario = { name: "overload", title: "Overload", run };

async function run(lab: Laboratory): Promise<Section> {
  const { factor, seconds } = lab.preset.overload;
  const capacity = await lab.capacity(lab.own);
  const peer = await lab.bestPeer();
  const targets = peer ? [lab.own, peer] : [lab.own];
  const random = new Random(lab.seed, 7);
  const warnings: string[] = [];
  const repeats = await interleave(targets, lab.repeats, async (target, repeat) => {
    const arrivals = lab.traffic.draw(factor * capacity, seconds, new Random(lab.seed, 300 + repeat));
    const result = await oneRun(target, arrivals, random);
    lab.say(
      `overload, ${target.label}: ${figure(100 * result.refused)} % rejected, TTFT p99 ${figure(result.ttft.p99)} ms`,
    );
    for (const failure of result.failures) warnings.push(`overload, ${target.label}: ${failure}`);
    return result;
  });
  const rows = targets.map(({ label }, i) => {
    const over = (value: (run: Overloaded) => number): Spread => spread(repeats[i]!.map(value));
    const some = (value: (run: Overloaded) => number) => {
      const found = over(value);
      return Number.isNaN(found.median) ? "–" : spreadText(found);
    };
    return [
      label,
      String(over(({ offered }) => offered).median),
      spreadText(over(({ refused }) => 100 * refused)),
      some(({ retryAfter }) => median(retryAfter)),
      some(({ retryAfter }) => quantile(retryAfter, 1)),
      some(({ admittedLater }) => 100 * admittedLater),
      spreadText(over(({ ttft }) => ttft.p50)),
      spreadText(over(({ ttft }) => ttft.p99)),
      spreadText(over(({ tokensPerSecond }) => tokensPerSecond)),
    ];
  });
  return {
    about:
      `Online requests arrive at ${factor} × the capacity for ${seconds} s. A rejected request (429 or 503) is sent once more ` +
      "after its Retry-After, and is then admitted or not. TTFT is of requests admitted at the first try.",
    head: [
      "server",
      "requests",
      "rejected %",
      "Retry-After p50 s",
      "most s",
      "then admitted %",
      "TTFT p50 ms",
      "TTFT p99 ms",
      "tokens/s",
    ],
    rows,
    goals: [],
    figures: [],
    warnings,
    data: {
      plan: lab.preset.overload,
      capacity,
      arms: targets.map(({ label }, i) => ({ label, repeats: repeats[i] })),
    },
  };
}

type Overloaded = Awaited<ReturnType<typeof oneRun>>;

async function oneRun(target: Target, arrivals: Arrival[], random: Random) {
  const bodies = await arrivalBodies(arrivals, target, random);
  const retries: Promise<boolean>[] = [];
  const result = await openLoop(
    arrivals.map(({ atMs }) => atMs),
    async (index) => {
      try {
        return await stream(target, bodies[index]!);
      } catch (error) {
        if (error instanceof HttpFailure && error.retryAfter !== null) {
          const again = () => stream(target, bodies[index]!);
          // it ends beside the open loop, which gets the rejection at once
          retries.push(
            wait(error.retryAfter * 1000)
              .then(again)
              .then(
                () => true,
                () => false,
              ),
          );
        }
        throw error;
      }
    },
  );
  const admitted = (await Promise.all(retries)).filter(Boolean).length;
  const { refusals, failures, ttft, tokensPerSecond } = result;
  return {
    offered: arrivals.length,
    refused: refusals.length / arrivals.length,
    retryAfter: refusals.flatMap(({ retryAfter }) => (retryAfter === null ? [] : [retryAfter])),
    /** Of the rejected requests; NaN when there were none. */
    admittedLater: admitted / refusals.length,
    ttft,
    tokensPerSecond,
    failures,
  };
}
