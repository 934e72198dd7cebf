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
/** More days than that go together. */
const MOST_LINES = 40;
/** Told apart by their shade, not by colour: a pipe, a log and NO_COLOR show the same. */
const WORK = [
  ["online", "█"],
  ["flex", "▓"],
  ["batch", "▒"],
  ["idle", "·"],
] as const;

type Machine = NonNullable<UsageSpan["machine"]>;

/** What the machine did in all the time that a server was up, and what that comes to for a token. */
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
  if (!priced && !spot) lines.push("What it costs is not known: the server runs without --machine-usd-per-hour.");
  return lines;
}

/** A line per day or hour: what was spent at list prices, and as a bar what the machine did, or what was spent. */
export function spanChart(all: readonly UsageSpan[], width: number): string[] {
  const spans = gathered(all);
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

/** From the first in which anything was on, as many to a line as keep it short. */
function gathered(spans: readonly UsageSpan[]): UsageSpan[] {
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

/** Shades for what the machine did; the whole is as long as it was up. Ends are rounded, so that no error adds up. */
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

/** In UTC, as days are cut. */
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
