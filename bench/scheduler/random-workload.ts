import type { KvKind } from "../../engine/protocol/config.ts";
import { TIERS } from "../../engine/protocol/request.ts";
import type { Random } from "../base/random.ts";
import type { Arrival } from "./simulated-sequence.ts";
import type { SimulationSetup } from "./simulation-setup.ts";

export const LONGEST_PROMPT = 60;
export const LONGEST_GOAL = 20;
const LONGEST = LONGEST_PROMPT + LONGEST_GOAL;
const MOST_ARRIVALS = 60;
/** Steps within which requests arrive. */
const SPAN = 120;

/** Two texts with which many prompts begin; the second differs from the first after 24 tokens. */
const FIRST = Array.from({ length: LONGEST_PROMPT }, (_, i) => (i * i + 3 * i) % 4);
export const TEXTS = [FIRST, [...FIRST.slice(0, 24), ...FIRST.slice(24).map((token) => 3 - token)]];

const PARTS = { reuse: "parts" } as const;
const RECURRENT = { reuse: "whole", passes: "equal" } as const;
const REUSES = [PARTS, PARTS, PARTS, RECURRENT, { reuse: "whole", window: 12 }] as const;

/** A cache that runs short of cells, and limits of a scheduler. */
export function randomSetup(random: Random, kind: KvKind): SimulationSetup {
  const sequences = random.integer(1, 8);
  const split = kind === "split";
  return {
    kind,
    sequences,
    ids: sequences + random.integer(0, split ? 2 : 8),
    cells: split ? LONGEST : random.integer(LONGEST, 400),
    copyPrice: split ? pick(random, [0, 8, 1000]) : 0,
    ...pick<Pick<SimulationSetup, "reuse" | "passes" | "window">>(random, REUSES),
    stepTokens: random.integer(1, 64),
    reserved: Math.min(random.integer(0, 2), sequences - 1),
    itlMs: random.integer(1, 60),
    batchTax: pick(random, [0, 0.1, 1]),
    batchStepMs: random.next() < 0.2 ? null : random.integer(1, 40),
    hostTokens: pick(random, [0, 100, 1000]),
  };
}

/** Requests of all tiers, of two owners and two scopes; a quarter is cancelled. */
export function randomArrivals(random: Random): Arrival[] {
  return Array.from({ length: random.integer(1, MOST_ARRIVALS) }, () => {
    const at = random.next() < 0.5 ? 0 : random.integer(0, SPAN);
    const begin = random.integer(0, LONGEST_PROMPT - 1);
    const tail = Array.from({ length: random.integer(1, 20) }, () => random.integer(0, 3));
    return {
      at,
      tier: random.next() < 0.5 ? "default" : pick(random, TIERS),
      scope: pick(random, ["", "", "another"]),
      owner: pick(random, ["a", "a", "b"]),
      prompt: [...pick(random, TEXTS).slice(0, begin), ...tail].slice(0, LONGEST_PROMPT),
      goal: random.integer(1, LONGEST_GOAL),
      cancelAt: random.next() < 0.25 ? at + random.integer(0, 80) : null,
    };
  });
}

function pick<T>(random: Random, from: readonly T[]): T {
  return from[random.integer(0, from.length - 1)]!;
}
