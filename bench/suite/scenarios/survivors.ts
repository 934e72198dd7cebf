import { Random } from "../../base/random.ts";
import { median, spread } from "../../base/statistics.ts";
import { figure, spreadText } from "../../base/table.ts";
import { promptMaker } from "../../prompts/prompt.ts";
import { closedLoop } from "../../target/load.ts";
import { interleave } from "../../target/rounds.ts";
import { stream } from "../../target/stream.ts";
import type { Target } from "../../target/target.ts";
import { goal, type Laboratory, type Scenario, type Section } from "../scenario.ts";

/** Long streams continue after the short ones between them have ended and left holes in the ids of a split cache. */
export const survivors: Scenario = { name: "survivors", title: "Scattered survivors", run };

const PROMPT = 32;

async function run(lab: Laboratory): Promise<Section> {
  const { long, short, longTokens, shortTokens } = lab.preset.survivors;
  const targets = [lab.own, ...lab.peers];
  const random = new Random(lab.seed, 2);
  const repeats = await interleave(targets, lab.repeats, async (target) => {
    const result = await oneRun(target, lab.preset.survivors, random);
    lab.say(`survivors, ${target.label}: ITL p50 ${figure(result.itl)} ms`);
    return result;
  });
  const arms = targets.map(({ label }, i) => ({ label, repeats: repeats[i]! }));
  const itl = (arm: (typeof arms)[number]) => spread(arm.repeats.map((repeat) => repeat.itl));
  return {
    about:
      `${long + short} streams start, every ${(long + short) / long}th with ${longTokens} tokens, the others with ` +
      `${shortTokens}. Measured are the gaps of the ${long} long ones after the last short one has ended.`,
    head: ["server", "ITL p50 ms", "with all streams, ITL p50 ms", "failed"],
    rows: arms.map((arm) => [
      arm.label,
      spreadText(itl(arm)),
      spreadText(spread(arm.repeats.map(({ crowded }) => crowded))),
      String(arm.repeats.reduce((sum, { failures }) => sum + failures.length, 0)),
    ]),
    goals: arms
      .slice(1)
      .map((peer) =>
        goal(`ITL p50 of the survivors, of ${peer.label}'s`, itl(arms[0]!).median / itl(peer).median, "≤", 0.6, " ×"),
      ),
    figures: [],
    warnings: arms.flatMap(({ label, repeats }) =>
      repeats.flatMap(({ failures }) => failures.map((failure) => `${label}: ${failure}`)),
    ),
    data: { plan: lab.preset.survivors, arms },
  };
}

async function oneRun(
  target: Target,
  { long, short, longTokens, shortTokens }: Laboratory["preset"]["survivors"],
  random: Random,
) {
  const make = await promptMaker("completions", target, random);
  const every = (long + short) / long;
  const events: number[][] = [];
  let lastShort = 0;
  const load = await closedLoop(long + short, 1, async (i) => {
    const isLong = i % every === every - 1;
    const times: number[] = [];
    if (isLong) events.push(times);
    const body = {
      ...make(PROMPT, null, random),
      max_tokens: isLong ? longTokens : shortTokens,
      temperature: 0,
      ignore_eos: true,
    };
    const sample = await stream(target, body, { onText: (at) => times.push(at) });
    if (!isLong) lastShort = Math.max(lastShort, sample.endedAt);
    return sample;
  });
  const gaps = (from: number, to: number) =>
    events.flatMap((times) => {
      const inside = times.filter((at) => at > from && at < to);
      return inside.slice(1).map((at, i) => at - inside[i]!);
    });
  return {
    itl: median(gaps(lastShort, Number.POSITIVE_INFINITY)),
    crowded: median(gaps(0, lastShort)),
    failures: load.failures,
  };
}
