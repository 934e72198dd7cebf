import { groupedBatch } from "./grouped-batch.ts";
import { headOfLine } from "./head-of-line.ts";
import { longPrompt } from "./long-prompt.ts";
import { overload } from "./overload.ts";
import { parking } from "./parking.ts";
import type { Scenario } from "./scenario.ts";
import { sharedPrefix } from "./shared-prefix.ts";
import { streams } from "./streams.ts";
import { survivors } from "./survivors.ts";
import { twoShifts } from "./two-shifts.ts";

/** In the order of the report. */
export const SCENARIOS: Scenario[] = [
  twoShifts,
  headOfLine,
  longPrompt,
  sharedPrefix,
  survivors,
  groupedBatch,
  streams,
  parking,
  overload,
];
