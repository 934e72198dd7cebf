import type { Figure } from "../chart/figure.ts";
import type { Target } from "../target/target.ts";
import type { Traffic } from "./load/traffic.ts";
import type { Preset } from "./preset.ts";

/** Servers, settings and shared measurements of the scenarios. */
export interface Laboratory {
  /** This project's server. */
  own: Target;
  /** May be empty; then only this server is measured. */
  peers: Target[];
  preset: Preset;
  repeats: number;
  seed: number;
  /** Traffic with lengths scaled to the preset. */
  traffic: Traffic;
  /** llama-batched-bench and its model; null leaves the ceiling out. */
  ceiling: { binary: string; gguf: string; threads: number | null } | null;
  /**
   * Requests of `traffic` per second that a server completes with `preset.clients` clients; measured once per server.
   */
  capacity: (target: Target) => Promise<number>;
  /** The peer with the highest capacity, for scenarios that take too long with all. */
  bestPeer: () => Promise<Target | null>;
  /** Prints a line of progress. */
  say: (text: string) => void;
}

/** A claim compared with its measurement. */
export interface Goal {
  what: string;
  wanted: string;
  measured: string;
  met: boolean;
}

/** A scenario's part of the report; `data` has all measurements. */
export interface Section {
  /** The method and how to read the table, in Markdown. */
  about: string;
  head: string[];
  rows: string[][];
  goals: Goal[];
  figures: Figure[];
  warnings: string[];
  data: object;
}

export interface Scenario {
  /** Name on the command line. */
  name: string;
  title: string;
  run: (laboratory: Laboratory) => Promise<Section>;
}

/** A goal of at least or at most `bound`. NaN never meets it. */
export function goal(what: string, measured: number, sense: "≥" | "≤", bound: number, unit = ""): Goal {
  const met = sense === "≥" ? measured >= bound : measured <= bound;
  return { what, wanted: `${sense} ${bound}${unit}`, measured: `${Number(measured.toPrecision(3))}${unit}`, met };
}
