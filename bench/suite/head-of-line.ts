import { setTimeout as wait } from "node:timers/promises";
import { Random } from "../random.ts";
import { interleave } from "../rounds.ts";
import { median, quantile, spread } from "../statistics.ts";
import { figure, spreadText } from "../table.ts";
import type { Target } from "../target.ts";
import { type OnlineRun, onlineDoubts, onlineLoad } from "./online-load.ts";
import { goal, type Laboratory, type Scenario, type Section } from "./scenario.ts";
import { saturate } from "./two-shifts.ts";

/** What an online request waits for that arrives at a random instant of a saturating batch. */
export const headOfLine: Scenario = { name: "head-of-line", title: "Head of line", run };

/** The defaults of this server's options. */
const BATCH_STEP_MS = 25;
const TTFT_OBJECTIVE_MS = 500;

interface Arm {
  target: Target;
  batch: boolean;
  repeats: { run: OnlineRun; added: number[] }[];
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
      const measured = await onlineLoad(target, arrivals, seconds, work, random);
      const label = `head of line, ${target.label}, ${batch ? "with" : "without"} batch`;
      lab.say(`${label}: TTFT p50 ${figure(measured.ttft.p50)} ms, most ${figure(measured.ttft.max)} ms`);
      warnings.push(...onlineDoubts(label, measured));
      return measured;
    } finally {
      await work?.stop();
    }
  });
  const arms = plans.map(({ target, batch }, i): Arm => {
    const alone = repeats[plans.findIndex((plan) => plan.target === target && !plan.batch)]!;
    return {
      target,
      batch,
      repeats: repeats[i]!.map((run, repeat) => ({ run, added: addedWaits(run, alone[repeat]!) })),
    };
  });
  const ours = arms.find(({ target, batch }) => target === lab.own && batch)!;
  const most = (arm: Arm) => spread(arm.repeats.map(({ added }) => quantile(added, 1)));
  const within = (arm: Arm, bound: number) =>
    spread(arm.repeats.map(({ added }) => (100 * added.filter((wait) => wait <= bound).length) / added.length));
  const bound = BATCH_STEP_MS * 1.2;
  return {
    about:
      `${count} online requests of ${prompt} tokens in and ${tokens} out arrive at random instants of ${seconds} s beside ` +
      "the saturating batch of the two shifts. The added wait of a request is its TTFT less that of the same arrival at the " +
      `same server without the batch, so it has the noise of both; it is counted as within the bound up to batch-step-ms + 20 % = ${bound} ms.`,
    head: [
      "server",
      "batch",
      "TTFT p50 ms",
      "TTFT p99 ms",
      "added wait p50 ms",
      "most added wait ms",
      `within ${bound} ms, %`,
    ],
    rows: arms.map((arm) => [
      arm.target.label,
      arm.batch ? "with" : "",
      spreadText(spread(arm.repeats.map(({ run }) => run.ttft.p50))),
      spreadText(spread(arm.repeats.map(({ run }) => run.ttft.p99))),
      spreadText(spread(arm.repeats.map(({ added }) => median(added)))),
      spreadText(most(arm)),
      spreadText(within(arm, bound)),
    ]),
    goals: [
      goal(`most added wait of ${count} requests`, most(ours).median, "≤", bound, " ms"),
      goal("the same, against 40 % of slo-ttft-ms", most(ours).median, "≤", TTFT_OBJECTIVE_MS * 0.4, " ms"),
    ],
    figures: [],
    warnings,
    data: { plan: lab.preset.headOfLine, arms: arms.map(({ target, ...arm }) => ({ server: target.label, ...arm })) },
  };
}

/** Of the arrivals that were served in both runs, in milliseconds. */
function addedWaits(run: OnlineRun, alone: OnlineRun): number[] {
  return run.ttfts.flatMap((ttft, i) => {
    const before = alone.ttfts[i] ?? null;
    return ttft === null || before === null ? [] : [ttft - before];
  });
}
