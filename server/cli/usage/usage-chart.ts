import { usdText } from "../../../ledger/prices.ts";
import { bar } from "../text/bar.ts";
import { short } from "../text/number-text.ts";
import { bothOf, type UsageSpan } from "./usage-report.ts";

const NANO = 1e9;
const MILLION = 1e6;
const MINUTE = 60;
const HOUR = 3600;
const GAP = 2;
const MOST_BAR = 60;
const LEAST_BAR = 10;
/** Maximum lines of a chart; more days or hours are merged. */
const MOST_LINES = 40;
/** Shades instead of colours, so that a pipe, a log and NO_COLOR show the same. */
const WORK = [
  ["online", "█"],
  ["flex", "▓"],
  ["batch", "▒"],
  ["idle", "·"],
] as const;

type Machine = NonNullable<UsageSpan["machine"]>;

/** The use of the machine while a server was up, and its cost per token. */
export function machineText(spans: readonly UsageSpan[], tokens: number): string[] {
  const machines = spans.flatMap(({ machine }) => machine ?? []);
  const sum = (of: (machine: Machine) => number | null) => machines.reduce((total, each) => total + (of(each) ?? 0), 0);
  const up = sum(({ seconds }) => seconds);
  const shares = WORK.map(([kind]) => `${kind} ${percent(sum((machine) => machine[kind]) / up)}`);
  const lines = [`The machine was up for ${lasting(up)}: ${shares.join(", ")}.`];
  const priced = machines.some(({ usd }) => usd !== null);
  const spot = machines.some(({ spotUsd }) => spotUsd !== null);
  if (priced)
    lines.push(
      `It cost USD ${costText(
        sum(({ usd }) => usd),
        tokens,
      )}.`,
    );
  if (spot)
    lines.push(
      `As a spot machine it cost USD ${costText(
        sum(({ spotUsd }) => spotUsd),
        tokens,
      )}.`,
    );
  if (!priced && !spot) lines.push("Its cost is unknown: the server runs without --machine-usd-per-hour.");
  return lines;
}

/** A line per day or hour: the cost at list prices, and a bar of the machine's use or, without it, of the cost. */
export function spanChart(all: readonly UsageSpan[], width: number): string[] {
  const spans = merged(all);
  const hourly = all.length > 1 && all[1]!.start - all[0]!.start === HOUR;
  const labels = spans.map(({ start }) => timeText(start, hourly));
  const amounts = spans.map(({ costNano }) => usdText(costNano));
  const wide = Math.max("USD".length, ...amounts.map(({ length }) => length));
  const before = Math.max(...labels.map(({ length }) => length)) + GAP + wide + GAP;
  const room = Math.max(LEAST_BAR, Math.min(MOST_BAR, width - before));
  const timed = spans.some(({ machine }) => machine !== null && machine.seconds > 0);
  const dearest = Math.max(1, ...spans.map(({ costNano }) => costNano));
  const longest = Math.max(1, ...spans.map(({ machine }) => machine?.seconds ?? 0));
  const legend = timed ? WORK.map(([kind, shade]) => `${shade} ${kind}`).join("  ") : "";
  return [
    `${" ".repeat(before - GAP - wide)}${"USD".padStart(wide)}${" ".repeat(GAP)}${legend}`.trimEnd(),
    ...spans.map(({ costNano, machine }, i) => {
      const chart = timed ? stacked(machine, longest, room) : bar(costNano / dearest, room);
      const label = labels[i]!.padEnd(before - GAP - wide);
      return `${label}${amounts[i]!.padStart(wide)}${" ".repeat(GAP)}${chart}`.trimEnd();
    }),
  ];
}

/** Starts at the first span with any use, and merges spans until they fit into MOST_LINES. */
function merged(spans: readonly UsageSpan[]): UsageSpan[] {
  const first = spans.findIndex(({ costNano, machine }) => costNano > 0 || (machine?.seconds ?? 0) > 0);
  const used = spans.slice(Math.max(0, first));
  const size = Math.ceil(used.length / MOST_LINES);
  const lines = Array.from({ length: Math.ceil(used.length / size) }, (_, i) => used.slice(i * size, (i + 1) * size));
  return lines.map((some) => some.reduce(joined));
}

function joined(a: UsageSpan, b: UsageSpan): UsageSpan {
  const machine = a.machine === null || b.machine === null ? (a.machine ?? b.machine) : together(a.machine, b.machine);
  return { start: a.start, costNano: a.costNano + b.costNano, machine };
}

function together(a: Machine, b: Machine): Machine {
  const work = { online: a.online + b.online, flex: a.flex + b.flex, batch: a.batch + b.batch, idle: a.idle + b.idle };
  return { ...bothOf(a, b), ...work };
}

/** A bar of shades whose length is the uptime. The ends are rounded, so that rounding errors do not accumulate. */
function stacked(machine: Machine | null, longest: number, room: number): string {
  if (machine === null) return "";
  let done = 0;
  let at = 0;
  let text = "";
  for (const [kind, shade] of WORK) {
    done += machine[kind];
    const end = Math.round((done / longest) * room);
    text += shade.repeat(Math.max(0, end - at));
    at = end;
  }
  return text;
}

/** In UTC, like the boundaries of days. */
function timeText(start: number, hourly: boolean): string {
  const text = new Date(start * 1000).toISOString();
  return hourly ? `${text.slice(0, 10)} ${text.slice(11, 16)}` : text.slice(0, 10);
}

function lasting(seconds: number): string {
  if (seconds < MINUTE) return `${short(seconds)} s`;
  return seconds < HOUR ? `${short(seconds / MINUTE)} min` : `${short(seconds / HOUR)} h`;
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}

function costText(usd: number, tokens: number): string {
  const perMillion =
    tokens === 0 ? "" : `, idle time included USD ${short((usd / tokens) * MILLION)} per million tokens`;
  return `${usdText(Math.round(usd * NANO))}${perMillion}`;
}
