import { spread } from "../../base/statistics.ts";
import { figure } from "../../base/table.ts";
import { BATCH_HEAD, batchRows, measureBatch } from "../../batch/batch.ts";
import { bestArm } from "../best-arm.ts";
import { goal, type Laboratory, type Scenario, type Section } from "../scenario.ts";

/** A batch whose lines share a prefix, compared with a client that sends them one by one. */
export const groupedBatch: Scenario = { name: "grouped-batch", title: "Prefix-grouped batch", run };

async function run(lab: Laboratory): Promise<Section> {
  const { lines, shared, private: own, tokens } = lab.preset.groupedBatch;
  const peer = await lab.bestPeer();
  const plan = {
    lines,
    prompt: shared + own,
    shared,
    tokens,
    concurrency: [lab.preset.clients],
    repeats: lab.repeats,
    seed: lab.seed,
  };
  const arms = await measureBatch(peer ? [lab.own, peer] : [lab.own], plan, (label, { seconds }) => {
    lab.say(`grouped batch, ${label}: ${figure(lines / seconds)} lines/s`);
  });
  const rate = (arm: (typeof arms)[number]) => spread(arm.repeats.map(({ seconds }) => lines / seconds)).median;
  const [ours, ...loops] = arms;
  const best = bestArm(loops, rate, "most");
  return {
    about:
      `${lines} lines with a shared prefix of ${shared} tokens and ${own} further ones, ${tokens} out: here as a batch, from the ` +
      `upload's first byte to the end, files included; at the peer by a plain client with ${lab.preset.clients} in flight.`,
    head: BATCH_HEAD,
    rows: batchRows(arms, lines),
    goals: best ? [goal(`lines/s over a client's loop at ${best.label}`, rate(ours!) / rate(best), "≥", 3, " ×")] : [],
    figures: [],
    warnings: [],
    data: { plan, arms },
  };
}
