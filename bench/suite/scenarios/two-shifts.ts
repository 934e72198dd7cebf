import { setTimeout as wait } from "node:timers/promises";
import { Random } from "../../base/random.ts";
import { figure } from "../../base/table.ts";
import { counters } from "../../target/counters.ts";
import { interleave } from "../../target/rounds.ts";
import type { Target } from "../../target/target.ts";
import { type BatchWork, batchJob, clientLoop, lineBodies } from "../load/batch-work.ts";
import { type OnlineRun, onlineDoubts, onlineLoad } from "../load/online-load.ts";
import type { Arrival } from "../load/traffic.ts";
import { type OracleRules, oracle } from "../oracle/oracle.ts";
import { itlObjective, withStepCosts } from "../oracle/step-costs.ts";
import type { Laboratory, Scenario, Section } from "../scenario.ts";
import { type EngineUse, type ShiftArm, twoShiftsReport } from "./two-shifts-report.ts";

/** Online requests alone, and beside a saturating batch. */
export const twoShifts: Scenario = { name: "two-shifts", title: "Two shifts", run };

/** Online loads as fractions of the capacity. */
const LOADS = [0.25, 0.5];
/** More lines than any server completes during a measurement. */
const LINES = 6000;
/** Defaults of this server's options; the ITL objective is read from the server. */
const CAPS = { stepTokens: 512, tax: 0.1, batchStepMs: 25, twoPasses: true };

async function run(lab: Laboratory): Promise<Section> {
  const { seconds, line } = lab.preset.shifts;
  const random = new Random(lab.seed, 4);
  const capacity = await lab.capacity(lab.own);
  const peer = await lab.bestPeer();
  const rules: OracleRules = { ...CAPS, itlMs: await itlObjective(lab.own), sequences: lab.preset.sequences };
  // the same arrivals for every arm of a repeat
  const arrivals = (load: number, repeat: number) =>
    lab.traffic.draw(load * capacity, seconds, new Random(lab.seed, 100 + 10 * repeat + LOADS.indexOf(load)));
  const arms: Omit<ShiftArm, "repeats">[] = [{ target: lab.own, load: 0, batch: true }];
  for (const load of LOADS) {
    for (const target of peer ? [lab.own, peer] : [lab.own]) {
      arms.push({ target, load, batch: false }, { target, load, batch: true });
    }
  }
  const warnings: string[] = [];
  const runs = await interleave(arms, lab.repeats, async ({ target, load, batch }, repeat) => {
    const due = load === 0 ? [] : arrivals(load, repeat);
    const label = `two shifts, ${target.label}, ${load * 100} % online, ${batch ? "with" : "without"} batch`;
    const measured = await oneRun(lab, target, due, batch, random);
    const rate = measured.batchRate === null ? "" : `, ${figure(measured.batchRate)} batch tokens/s`;
    const { ttft, itl } = measured;
    lab.say(`${label}: TTFT p99 ${figure(ttft.p99)} ms, ITL p99 ${figure(itl.p99)} ms${rate}`);
    warnings.push(...onlineDoubts(label, measured));
    return { due, measured };
  });
  const costsOf = (load: number, batch: boolean, repeat: number) => {
    const own = arms.findIndex((arm) => arm.target === lab.own && arm.load === load && arm.batch === batch);
    return runs[own]![repeat]!.measured.engine!.costs;
  };
  const repeatsOf = ({ load, batch }: (typeof arms)[number], i: number) =>
    runs[i]!.map(({ due, measured }, repeat) => {
      const costs = { online: costsOf(load, batch, repeat), batch: costsOf(0, true, repeat) };
      const ideal = oracle(costs, rules, line, due, seconds);
      return {
        ...measured,
        oracleRate: batch ? ideal.batchTokens / seconds : null,
        oracleSeconds: ideal.onlineShare * seconds,
        oracleTtfts: oracle(costs, rules, null, due, seconds).ttfts,
      };
    });
  return twoShiftsReport({
    arms: arms.map((arm, i) => ({ ...arm, repeats: repeatsOf(arm, i) })),
    own: lab.own,
    peer,
    capacity,
    rules,
    plan: lab.preset.shifts,
    clients: lab.preset.clients,
    traffic: lab.traffic.source,
    warnings,
  });
}

async function oneRun(
  lab: Laboratory,
  target: Target,
  arrivals: Arrival[],
  batch: boolean,
  random: Random,
): Promise<OnlineRun & { engine: EngineUse | null }> {
  const { seconds, settleMs } = lab.preset.shifts;
  const work = batch ? await saturate(lab, target, random) : null;
  try {
    if (work) await wait(settleMs);
    const load = () => onlineLoad(target, arrivals, seconds, work, random);
    if (target !== lab.own) return { ...(await load()), engine: null };
    const before = await counters(target);
    const { result, costs } = await withStepCosts(target, load);
    const after = await counters(target);
    const busySeconds = after.busySeconds - before.busySeconds;
    return { ...result, engine: { busySeconds, costs } };
  } finally {
    await work?.stop();
  }
}

/**
 * Saturating batch work: at this server a batch of /v1/batches, at a peer the same lines by a plain client with
 * `clients` of them in flight.
 */
export async function saturate(lab: Laboratory, target: Target, random: Random): Promise<BatchWork> {
  const bodies = await lineBodies(target, lab.preset.shifts.line, LINES, random);
  return target === lab.own ? batchJob(target, bodies) : clientLoop(target, bodies, lab.preset.clients);
}
