import { readFileSync } from "node:fs";
import { InvalidArgumentError } from "commander";

const MOST = 2 ** 31 - 1;

/** Parses a whole number of at least `least`. */
export function whole(least: number): (text: string) => number {
  return (text) => {
    const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
    if (value >= least && value <= MOST) return value;
    throw new InvalidArgumentError(`A whole number from ${least} to ${MOST} is needed.`);
  };
}

/** Parses whole numbers of at least `least`, separated by commas. */
export function wholes(least: number): (text: string) => number[] {
  return (text) => text.split(",").map(whole(least));
}

/** Reads a JSON object from a file. */
export function jsonFile(path: string): Record<string, unknown> {
  const value: unknown = JSON.parse(readFileSync(path, "utf8"));
  if (typeof value !== "object" || value === null) throw new InvalidArgumentError("a JSON object is expected");
  return { ...value };
}
