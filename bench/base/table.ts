import type { Spread } from "./statistics.ts";

/** A Markdown table with padded columns: the first left-aligned, the others right-aligned. */
export function table(head: string[], rows: string[][]): string {
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map((row) => row[column]!.length)));
  const line = (cells: string[]) => {
    const padded = cells.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!)));
    return `| ${padded.join(" | ")} |`;
  };
  const rule = `|${widths.map((width, i) => (i === 0 ? "-".repeat(width + 2) : `${"-".repeat(width + 1)}:`)).join("|")}|`;
  return [line(head), rule, ...rows.map(line)].join("\n");
}

/** A number with about three significant digits. */
export function figure(value: number): string {
  if (!Number.isFinite(value)) return "–";
  const digits = value === 0 ? 0 : Math.floor(Math.log10(Math.abs(value)));
  return value.toFixed(Math.min(3, Math.max(0, 2 - digits)));
}

/** Median (minimum–maximum) of the repeats. */
export function spreadText({ median, min, max }: Spread): string {
  return `${figure(median)} (${figure(min)}–${figure(max)})`;
}
