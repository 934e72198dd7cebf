import { setTimeout as wait } from "node:timers/promises";
import { Random } from "../../base/random.ts";
import { type Spread, spread } from "../../base/statistics.ts";
import { figure, spreadText } from "../../base/table.ts";
import { type BatchObject, createBatch, isOver, retrieveBatch } from "../../batch/batch-job.ts";
import { promptMaker } from "../../prompts/prompt.ts";
import { counters } from "../../target/counters.ts";
import { closedLoop, type LoadResult } from "../../target/load.ts";
import { interleave } from "../../target/rounds.ts";
import { stream } from "../../target/stream.ts";
import type { Target } from "../../target/target.ts";
import { lineBodies } from "../load/batch-work.ts";
import type { Laboratory, Scenario, Section } from "../scenario.ts";

/** Cost of bursts of online requests that preempt a whole running batch. */
export const parking: Scenario = { name: "parking", title: "Preempt and resume", run };

const PROMPT = 64;
const TOKENS = 16;
const POLL_MS = 50;

/** The cost of preemption is the batch's engine time in the last run beyond that of the first. */
const KINDS = [
  { name: "batch", batch: true, bursts: false },
  { name: "bursts", batch: false, bursts: true },
  { name: "batch and bursts", batch: true, bursts: true },
];

interface Run {
  /** Seconds from the batch's creation to its end; null without a batch. */
  batchSeconds: number | null;
  bursts: LoadResult[];
  /** Busy seconds of the engine less those that online work alone would have taken. */
  batchBusySeconds: number;
}

async function run(lab: Laboratory): Promise<Section> {
  const { line, bursts } = lab.preset.parking;
  const { sequences } = lab.preset;
  const random = new Random(lab.seed, 6);
  const warnings: string[] = [];
  const repeats = await interleave(KINDS, lab.repeats, async (kind) => {
    const result = await oneRun(lab, kind, random);
    lab.say(`preempt and resume, ${kind.name}: the batch took ${figure(result.batchBusySeconds)} s of the engine`);
    for (const { failures } of result.bursts) warnings.push(...failures);
    return result;
  });
  const rows = KINDS.map(({ name }, i) => {
    const over = (value: (run: Run) => number): Spread => spread(repeats[i]!.map(value));
    const shown = (value: (run: Run) => number | null) => {
      const found = over((one) => value(one) ?? Number.NaN);
      return Number.isNaN(found.median) ? "" : spreadText(found);
    };
    return [
      name,
      shown(({ batchSeconds }) => batchSeconds),
      shown(({ batchSeconds, batchBusySeconds }) => (batchSeconds === null ? null : batchBusySeconds)),
      shown(({ bursts }) => worst(bursts, ({ ttft }) => ttft.p99)),
      shown(({ bursts }) => worst(bursts, ({ itl }) => itl.p99)),
    ];
  });
  const busy = (name: string) => {
    const index = KINDS.findIndex((kind) => kind.name === name);
    return spread(repeats[index]!.map(({ batchBusySeconds }) => batchBusySeconds)).median;
  };
  const price = busy("batch and bursts") / busy("batch");
  return {
    about:
      `A batch of ${2 * sequences} lines (${line.prompt} tokens in, ${line.tokens} out) runs in all sequences; ${bursts} times ` +
      `${sequences} online requests (${PROMPT} in, ${TOKENS} out) arrive together, one per sequence. The batch's ` +
      "engine time is the busy time less the time that online work alone would have needed, both from /metrics. With " +
      `the bursts it is ${figure(price)} × that without them. Preemption and resumption increase it; batch work that ` +
      "shares online steps decreases it, as it pays no fixed cost of a step.",
    head: ["run", "batch s", "engine s of the batch", "bursts: TTFT p99 ms", "bursts: ITL p99 ms"],
    rows,
    goals: [],
    figures: [],
    warnings,
    data: { plan: lab.preset.parking, price, runs: KINDS.map(({ name }, i) => ({ name, repeats: repeats[i] })) },
  };
}

function worst(bursts: LoadResult[], value: (burst: LoadResult) => number): number | null {
  return bursts.length === 0 ? null : Math.max(...bursts.map(value));
}

async function oneRun(lab: Laboratory, kind: (typeof KINDS)[number], random: Random): Promise<Run> {
  const { line, bursts, everyMs } = lab.preset.parking;
  const { own, preset } = lab;
  const before = await counters(own);
  const began = performance.now();
  const bodies = kind.batch ? await lineBodies(own, line, 2 * preset.sequences, random) : null;
  const id = bodies && (await createBatch(own, bodies));
  const ended = id === null ? null : ending(own, id).then((batch) => ({ batch, at: performance.now() }));
  const loads: LoadResult[] = [];
  for (let i = 0; kind.bursts && i < bursts; i++) {
    await wait(everyMs);
    loads.push(await burst(own, preset.sequences, random));
  }
  const end = await ended;
  if (end && end.batch.request_counts.completed !== bodies!.length) {
    throw new Error(`the batch ended ${end.batch.status} with ${end.batch.request_counts.completed} lines completed`);
  }
  const after = await counters(own);
  return {
    batchSeconds: end && (end.at - began) / 1000,
    bursts: loads,
    batchBusySeconds: after.busySeconds - before.busySeconds - (after.onlineSeconds - before.onlineSeconds),
  };
}

async function burst(target: Target, requests: number, random: Random): Promise<LoadResult> {
  const make = await promptMaker("completions", target, random);
  const settings = { max_tokens: TOKENS, temperature: 0, ignore_eos: true };
  return closedLoop(requests, 1, () => stream(target, { ...make(PROMPT, null, random), ...settings }));
}

async function ending(target: Target, id: string): Promise<BatchObject> {
  for (;;) {
    const batch = await retrieveBatch(target, id);
    if (isOver(batch)) return batch;
    await wait(POLL_MS);
  }
}
