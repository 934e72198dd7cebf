import type { Scenario } from "../scenario.ts";
import { groupedBatch } from "./grouped-batch.ts";
import { headOfLine } from "./head-of-line.ts";
import { longPrompt } from "./long-prompt.ts";
import { overload } from "./overload.ts";
import { parking } from "./parking.ts";
import { sharedPrefix } from "./shared-prefix.ts";
import { survivors } from "./survivors.ts";
import { throughput } from "./throughput.ts";
import { twoShifts } from "./two-shifts.ts";

/** In the order of the report. */
export const SCENARIOS: Scenario[] = [
  twoShifts,
  headOfLine,
  longPrompt,
  sharedPrefix,
  survivors,
  groupedBatch,
  throughput,
  parking,
  overload,
];
