import type { Figure } from "../chart/figure.ts";
import type { Target } from "../target/target.ts";
import type { Preset } from "./preset.ts";
import type { Traffic } from "./traffic.ts";

/** What scenarios measure with. */
export interface Laboratory {
  /** This project's server. */
  own: Target;
  /** May be none; then only this server is measured. */
  peers: Target[];
  preset: Preset;
  repeats: number;
  seed: number;
  /** Lengths already scaled to the preset. */
  traffic: Traffic;
  /** llama-batched-bench, and the model for it; null leaves the ceiling out. */
  ceiling: { binary: string; gguf: string; threads: number | null } | null;
  /** Requests of `traffic` a second that a server ends when it always has as many as `preset.clients`; measured once each. */
  capacity: (target: Target) => Promise<number>;
  /** The peer with the highest capacity, for scenarios that take too long with all. */
  bestPeer: () => Promise<Target | null>;
  /** One line of progress. */
  say: (text: string) => void;
}

/** A claim that is held against what was measured. */
export interface Goal {
  what: string;
  wanted: string;
  measured: string;
  met: boolean;
}

/** What a scenario has to say, ready for the report; `data` is all that was measured. */
export interface Section {
  /** What was done and how to read it, in Markdown. */
  about: string;
  head: string[];
  rows: string[][];
  goals: Goal[];
  figures: Figure[];
  warnings: string[];
  data: object;
}

export interface Scenario {
  /** Its name on the command line. */
  name: string;
  title: string;
  run: (laboratory: Laboratory) => Promise<Section>;
}

/** A goal on a ratio that shall be at least, or at most, `bound`. NaN is never met. */
export function goal(what: string, measured: number, sense: "≥" | "≤", bound: number, unit = ""): Goal {
  const met = sense === "≥" ? measured >= bound : measured <= bound;
  return { what, wanted: `${sense} ${bound}${unit}`, measured: `${Number(measured.toPrecision(3))}${unit}`, met };
}
