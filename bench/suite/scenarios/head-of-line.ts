import { setTimeout as wait } from "node:timers/promises";
import { Random } from "../../base/random.ts";
import { median, quantile, spread } from "../../base/statistics.ts";
import { figure, spreadText } from "../../base/table.ts";
import { type Waits, waitsWithin } from "../../target/counters.ts";
import { interleave } from "../../target/rounds.ts";
import type { Target } from "../../target/target.ts";
import { type OnlineRun, onlineDoubts, onlineLoad } from "../load/online-load.ts";
import { goal, type Laboratory, type Scenario, type Section } from "../scenario.ts";
import { saturate } from "./two-shifts.ts";

/** Queue wait of an online request that arrives at a random instant of a saturating batch. */
export const headOfLine: Scenario = { name: "head-of-line", title: "Head of line", run };

/** Defaults of this server's options. */
const BATCH_STEP_MS = 25;
const BOUND_MS = BATCH_STEP_MS * 1.2;

interface Arm {
  target: Target;
  batch: boolean;
  /** The waits are counted by this server; another server has no such count. */
  repeats: { run: OnlineRun; waits: Waits | null; added: number[] }[];
}

async function run(lab: Laboratory): Promise<Section> {
  const { arrivals: count, seconds, prompt, tokens } = lab.preset.headOfLine;
  const random = new Random(lab.seed, 5);
  const peer = await lab.bestPeer();
  const plans = [lab.own, ...(peer ? [peer] : [])].flatMap((target) => [
    { target, batch: false },
    { target, batch: true },
  ]);
  const warnings: string[] = [];
  const repeats = await interleave(plans, lab.repeats, async ({ target, batch }, repeat) => {
    // uniform instants, the same for every arm of a repeat
    const instants = new Random(lab.seed, 200 + repeat);
    const arrivals = Array.from({ length: count }, () => ({ atMs: instants.next() * seconds * 1000, prompt, tokens }));
    arrivals.sort((a, b) => a.atMs - b.atMs);
    const work = batch ? await saturate(lab, target, random) : null;
    try {
      if (work) await wait(lab.preset.shifts.settleMs);
      const before = target === lab.own ? await waitsWithin(target, BOUND_MS / 1000) : null;
      const measured = await onlineLoad(target, arrivals, seconds, work, random);
      const after = before && (await waitsWithin(target, BOUND_MS / 1000));
      const waits = after && { all: after.all - before.all, within: after.within - before.within };
      const label = `head of line, ${target.label}, ${batch ? "with" : "without"} batch`;
      const share = waits === null ? "" : `, ${waits.within} of ${waits.all} within ${BOUND_MS} ms`;
      lab.say(`${label}: TTFT p50 ${figure(measured.ttft.p50)} ms, most ${figure(measured.ttft.max)} ms${share}`);
      warnings.push(...onlineDoubts(label, measured));
      return { run: measured, waits };
    } finally {
      await work?.stop();
    }
  });
  const arms = plans.map(({ target, batch }, i): Arm => {
    const alone = repeats[plans.findIndex((plan) => plan.target === target && !plan.batch)]!;
    return {
      target,
      batch,
      repeats: repeats[i]!.map((each, repeat) => ({ ...each, added: addedWaits(each.run, alone[repeat]!.run) })),
    };
  });
  const ours = arms.find(({ target, batch }) => target === lab.own && batch)!;
  const most = (arm: Arm) => spread(arm.repeats.map(({ added }) => quantile(added, 1)));
  const within = ({ repeats }: Arm) =>
    spread(repeats.flatMap(({ waits }) => (waits === null ? [] : [(100 * waits.within) / waits.all])));
  return {
    about:
      `${count} online requests of ${prompt} tokens in and ${tokens} out arrive at random instants of ${seconds} s beside ` +
      "the saturating batch of the two shifts. The queue wait is from a request's arrival at the socket to the beginning of the first " +
      "step with some of it (nightshift_queue_time_seconds); within the bound are waits up to batch-step-ms + 20 % = " +
      `${BOUND_MS} ms. The added wait is what a client measures: TTFT less that of the same arrival at the same server without ` +
      "the batch, with the noise of both.",
    head: [
      "server",
      "batch",
      "TTFT p50 ms",
      "TTFT p99 ms",
      "added wait p50 ms",
      "most added wait ms",
      `waits within ${BOUND_MS} ms, %`,
    ],
    rows: arms.map((arm) => [
      arm.target.label,
      arm.batch ? "with" : "",
      spreadText(spread(arm.repeats.map(({ run }) => run.ttft.p50))),
      spreadText(spread(arm.repeats.map(({ run }) => run.ttft.p99))),
      spreadText(spread(arm.repeats.map(({ added }) => median(added)))),
      spreadText(most(arm)),
      arm.target === lab.own ? spreadText(within(arm)) : "",
    ]),
    goals: [
      goal(
        `of ${count} requests wait at most ${BOUND_MS} ms for their first step`,
        within(ours).median,
        "≥",
        100,
        " %",
      ),
    ],
    figures: [],
    warnings,
    data: { plan: lab.preset.headOfLine, arms: arms.map(({ target, ...arm }) => ({ server: target.label, ...arm })) },
  };
}

/** Added waits in milliseconds of the arrivals that were served in both runs. */
function addedWaits(run: OnlineRun, alone: OnlineRun): number[] {
  return run.ttfts.flatMap((ttft, i) => {
    const before = alone.ttfts[i] ?? null;
    return ttft === null || before === null ? [] : [ttft - before];
  });
}
