import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import type { Arrival, Traffic } from "./traffic.ts";

/** Required columns of the Azure traces; a header names them in any order. */
const COLUMNS = ["TIMESTAMP", "ContextTokens", "GeneratedTokens"] as const;

/** Reads a trace of arrivals as CSV; see `replay`. */
export async function traceFile(path: string): Promise<Traffic> {
  return { source: `slices of ${basename(path)}`, draw: replay(parseTrace(await readFile(path, "utf8"))) };
}

/** Arrivals by time, the first at 0. Throws with the line's number for an invalid line. */
export function parseTrace(text: string): Arrival[] {
  const [head = "", ...lines] = text.trim().split(/\r?\n/);
  const names = head.split(",").map((name) => name.trim());
  const [time, prompt, tokens] = COLUMNS.map((column) => {
    const index = names.indexOf(column);
    if (index < 0) throw new Error(`the first line of a trace must name ${COLUMNS.join(", ")}`);
    return index;
  });
  const rows = lines.map((line, i) => {
    const cells = line.split(",");
    const row = { atMs: instant(cells[time!]), prompt: Number(cells[prompt!]), tokens: Number(cells[tokens!]) };
    if (Number.isFinite(row.atMs) && row.prompt >= 0 && row.tokens >= 0) return row;
    throw new Error(`line ${i + 2} of the trace is invalid: ${line.slice(0, 100)}`);
  });
  rows.sort((a, b) => a.atMs - b.atMs);
  return rows.map((row) => ({ ...row, atMs: row.atMs - rows[0]!.atMs }));
}

/** Milliseconds of `2023-11-16 18:15:46.6805900`; Date alone truncates digits after the third. */
function instant(text = ""): number {
  const [whole = "", fraction = "0"] = text.split(".");
  return Date.parse(`${whole.replace(" ", "T")}Z`) + Number(`0.${fraction}`) * 1000;
}

/**
 * A random section of rate × seconds consecutive requests, with its time scaled to `seconds`: bursts and the order of
 * lengths are preserved.
 */
export function replay(trace: Arrival[]): Traffic["draw"] {
  return (rate, seconds, random) => {
    const count = Math.round(rate * seconds);
    if (count >= trace.length) throw new Error(`the trace has ${trace.length} requests, and ${count} are needed`);
    const from = random.integer(0, trace.length - count - 1);
    const begin = trace[from]!.atMs;
    const span = trace[from + count]!.atMs - begin;
    return trace.slice(from, from + count).map((arrival) => ({
      ...arrival,
      atMs: span === 0 ? 0 : ((arrival.atMs - begin) / span) * seconds * 1000,
    }));
  };
}
