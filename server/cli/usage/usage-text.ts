import { type Column, csvText } from "../../../ledger/csv.ts";
import { usdText } from "../../../ledger/prices.ts";
import { bar } from "../text/bar.ts";
import { columns } from "../text/columns.ts";
import { grouped, short } from "../text/number-text.ts";
import { machineText, spanChart } from "./usage-chart.ts";
import { bothOf, type Dimension, type MachineCost, type UsageReport, type UsageRow } from "./usage-report.ts";

/** One column: its head, its text, and its rank among the columns that a narrow table leaves out; 0 is never left out. */
interface Field {
  head: string;
  text(row: UsageRow): string;
  spare: number;
}

const NANO = 1e9;
const MILLION = 1e6;
const MOST_BAR = 20;
/** Minimum characters of a readable bar. */
const LEAST_BAR = 6;
const GAP = 2;

const COUNTS: readonly Field[] = [
  { head: "requests", text: ({ requests }) => grouped(requests), spare: 1 },
  { head: "input", text: ({ inputTokens }) => grouped(inputTokens), spare: 0 },
  { head: "cached", text: ({ cachedTokens }) => grouped(cachedTokens), spare: 5 },
  { head: "output", text: ({ outputTokens }) => grouped(outputTokens), spare: 0 },
  { head: "USD", text: ({ costNano }) => usdText(costNano), spare: 0 },
  { head: "USD/M", text: (row) => perMillion(row.costNano / NANO, row), spare: 4 },
];
const MACHINE_SECONDS: Field = { head: "machine s", text: ({ machine }) => seconds(machine), spare: 3 };
/** Tokens that an upstream has not counted. */
const ESTIMATED: Field = { head: "estimated", text: ({ estimatedTokens }) => grouped(estimatedTokens), spare: 2 };
const MACHINE_USD: readonly Field[] = [
  { head: "machine USD", text: ({ machine }) => money(machine?.usd ?? null), spare: 0 },
  { head: "machine USD/M", text: (row) => perMillion(row.machine?.usd ?? null, row), spare: 0 },
];

/** A table with its total and bars, the use of the machine, and a chart over time. `width`: characters of the terminal. */
export function usageText(report: UsageReport, since: string, width: number): string {
  const { rows, spans, by, batchSavedNano } = report;
  const known = spans.some(({ machine }) => machine !== null && machine.seconds > 0);
  if (rows.length === 0 && !known) return `Nothing was used in the last ${since}.\n`;
  const parts = [
    tableLines(rows, by, width),
    [`The batch discount saved USD ${usdText(batchSavedNano)} in the last ${since}.`],
    ...(known ? [machineText(spans, tokensOf(totalOf(rows)))] : []),
    spanChart(spans, width),
  ];
  return `${parts.map((lines) => lines.join("\n")).join("\n\n")}\n`;
}

function tableLines(rows: readonly UsageRow[], by: readonly Dimension[], width: number): string[] {
  const names = by.map((dimension): Field => {
    return { head: dimension, text: (row) => shown(row.names[dimension] ?? null), spare: 0 };
  });
  const timed = rows.some(({ machine }) => machine !== null);
  const priced = rows.some(({ machine }) => machine !== null && machine.usd !== null);
  const guessed = rows.some(({ estimatedTokens }) => estimatedTokens > 0);
  const counts = [...COUNTS, ...(guessed ? [ESTIMATED] : [])];
  const fields = [...names, ...counts, ...(timed ? [MACHINE_SECONDS] : []), ...(priced ? MACHINE_USD : [])];
  const total = totalOf(rows);
  const lines = (some: readonly Field[]) => {
    const sums = some.map((field, i) => (i === 0 ? "total" : i < by.length ? "" : field.text(total)));
    return columns(
      [some.map(({ head }) => head), ...rows.map((row) => some.map(({ text }) => text(row))), sums],
      by.length,
    );
  };
  const table = lines(fitting(fields, (some) => widest(lines(some)) <= width));
  const room = Math.min(MOST_BAR, width - widest(table) - GAP);
  return room < LEAST_BAR ? table : withBars(table, rows, room);
}

/** Leaves out columns, the highest `spare` first, until the table fits or no further column may be left out. */
function fitting(fields: readonly Field[], fits: (fields: readonly Field[]) => boolean): readonly Field[] {
  let left = fields;
  while (!fits(left)) {
    const most = Math.max(...left.map(({ spare }) => spare));
    if (most === 0) break;
    left = left.filter(({ spare }) => spare !== most);
  }
  return left;
}

/** Adds to each row a bar of its share of the total cost, or of all tokens if all were free. */
function withBars(table: readonly string[], rows: readonly UsageRow[], room: number): string[] {
  const paid = rows.some(({ costNano }) => costNano > 0);
  const weight = (row: UsageRow) => (paid ? row.costNano : tokensOf(row));
  const most = Math.max(...rows.map(weight));
  const longest = widest(table);
  return table.map((line, i) => {
    const row = rows[i - 1];
    if (row === undefined || most === 0) return line;
    return `${line.padEnd(longest + GAP)}${bar(weight(row) / most, room)}`.trimEnd();
  });
}

/** The rows as a table for spreadsheets (ledger/csv.ts). */
export function usageTable({ rows, by }: UsageReport): string {
  const names = by.map((dimension): Column<UsageRow> => [dimension, (row) => row.names[dimension] ?? null]);
  return csvText(
    [
      ...names,
      ["requests", ({ requests }) => requests],
      ["input_tokens", ({ inputTokens }) => inputTokens],
      ["cached_tokens", ({ cachedTokens }) => cachedTokens],
      ["output_tokens", ({ outputTokens }) => outputTokens],
      ["cost_usd", ({ costNano }) => usdText(costNano)],
      ["default_cost_usd", ({ defaultCostNano }) => usdText(defaultCostNano)],
      ["machine_seconds", ({ machine }) => machine?.seconds ?? null],
      ["machine_usd", ({ machine }) => machine?.usd ?? null],
      ["machine_spot_usd", ({ machine }) => machine?.spotUsd ?? null],
      ["estimated_requests", ({ estimatedRequests }) => estimatedRequests],
      ["estimated_tokens", ({ estimatedTokens }) => estimatedTokens],
    ],
    rows,
  );
}

function totalOf(rows: readonly UsageRow[]): UsageRow {
  const sum = (count: (row: UsageRow) => number) => rows.reduce((total, row) => total + count(row), 0);
  const costs = rows.flatMap(({ machine }) => machine ?? []);
  return {
    names: {},
    requests: sum(({ requests }) => requests),
    inputTokens: sum(({ inputTokens }) => inputTokens),
    cachedTokens: sum(({ cachedTokens }) => cachedTokens),
    outputTokens: sum(({ outputTokens }) => outputTokens),
    estimatedRequests: sum(({ estimatedRequests }) => estimatedRequests),
    estimatedTokens: sum(({ estimatedTokens }) => estimatedTokens),
    costNano: sum(({ costNano }) => costNano),
    defaultCostNano: sum(({ defaultCostNano }) => defaultCostNano),
    machine: costs.length === 0 ? null : costs.reduce(bothOf),
  };
}

function tokensOf({ inputTokens, outputTokens }: UsageRow): number {
  return inputTokens + outputTokens;
}

function perMillion(usd: number | null, row: UsageRow): string {
  const tokens = tokensOf(row);
  return usd === null || tokens === 0 ? "-" : short((usd / tokens) * MILLION);
}

function money(usd: number | null): string {
  return usd === null ? "-" : usdText(Math.round(usd * NANO));
}

function seconds(machine: MachineCost | null): string {
  return machine === null ? "-" : machine.seconds.toFixed(1);
}

/** Names are chosen by users; terminal control characters in them are replaced. */
function shown(name: string | null): string {
  return name === null ? "-" : name.replace(/\p{Cc}/gu, "�");
}

function widest(lines: readonly string[]): number {
  return Math.max(...lines.map(({ length }) => length));
}
