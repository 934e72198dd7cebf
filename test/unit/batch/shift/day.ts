import type { RemainingWork } from "../../../../batch/shift/required-share.ts";
import type { ShiftChange, ShiftDecision } from "../../../../batch/shift/shift-decision.ts";
import { DEFAULT_SHIFT, type ShiftOptions, shiftRules } from "../../../../batch/shift/shift-rules.ts";
import { ShiftState } from "../../../../batch/shift/shift-state.ts";
import { Throughput } from "../../../../batch/shift/throughput.ts";

export const HOUR = 3_600_000;

/** Online load of an office, 0..1, by the local hour: quiet nights, two peaks by day. */
export function officeLoad(hour: number): number {
  if (hour < 7 || hour >= 20) return 0.03;
  const peak = Math.max(Math.exp(-((hour - 11) ** 2) / 5), Math.exp(-((hour - 15) ** 2) / 6));
  return 0.1 + 0.75 * peak;
}

export interface Day {
  options: Partial<ShiftOptions>;
  /** Unix milliseconds. */
  from: number;
  hours: number;
  /** Online load at a moment. */
  load(ms: number): number;
  /** Batch tokens per second on an engine without online work. */
  peakTokensPerSecond: number;
  /** True when batch work was measured on an idle engine before this day. */
  measured: boolean;
  batches: { submittedMs: number; tokens: number; windowHours?: number }[];
}

export interface Lived {
  changes: (ShiftChange & { at: number })[];
  /** The end of each batch, Unix milliseconds; null for a batch that has not ended. */
  ended: (number | null)[];
  /** Decisions by the minute. */
  minutes: { at: number; decision: ShiftDecision; remaining: number }[];
}

const LOOK_MS = 30_000;

/** Simulates some hours: the shift decides, and the engine computes at the rate that share and online load leave. */
export function live(day: Day): Lived {
  let now = day.from;
  const lived: Lived = { changes: [], ended: day.batches.map(() => null), minutes: [] };
  const shift = new ShiftState(shiftRules({ ...DEFAULT_SHIFT, ...day.options }, "Europe/Berlin"), {
    clock: { epochMs: () => now },
    log: { info: () => {} },
    observer: { shiftChanged: (_, decision) => lived.changes.push({ ...decision.change!, at: now }) },
  });
  const throughput = new Throughput();
  const worked = (tokens: number, ms: number, share: number) =>
    throughput.add({ ms, share, ended: { lines: 1, tokens }, inEngine: 1 });
  if (day.measured) worked(day.peakTokensPerSecond * 600, 600_000, 1);
  const left = day.batches.map(({ tokens }) => tokens);
  for (; now < day.from + day.hours * HOUR; now += LOOK_MS) {
    const backlog: RemainingWork[] = day.batches.flatMap(({ submittedMs, windowHours = 24 }, index) => {
      const open = submittedMs <= now && left[index]! > 0;
      return open
        ? [
            {
              batchId: `${index}`,
              owner: "local",
              remainingTokens: left[index]!,
              deadlineMs: submittedMs + windowHours * HOUR,
            },
          ]
        : [];
    });
    const load = day.load(now);
    const decision = shift.update(load, backlog, throughput.tokensPerSecond);
    let budget = day.peakTokensPerSecond * decision.share * (1 - load) * (LOOK_MS / 1000);
    if (backlog.length > 0) worked(budget, LOOK_MS, decision.share);
    for (const { batchId } of backlog.sort((a, b) => a.deadlineMs - b.deadlineMs)) {
      const index = Number(batchId);
      const done = Math.min(budget, left[index]!);
      left[index]! -= done;
      budget -= done;
      if (left[index] === 0) lived.ended[index] = now + LOOK_MS;
    }
    if ((now - day.from) % 60_000 === 0) {
      lived.minutes.push({ at: now, decision, remaining: left.reduce((sum, tokens) => sum + tokens, 0) });
    }
  }
  return lived;
}

/** The most changes in any one hour. */
export function mostChangesPerHour({ changes }: Lived): number {
  return Math.max(
    0,
    ...changes.map(({ at }) => changes.filter((other) => other.at >= at && other.at < at + HOUR).length),
  );
}
