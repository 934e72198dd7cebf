import type { Asked } from "../../engine/engine.ts";
import type { ModelFacts } from "../../engine/protocol/config.ts";
import type { InfillPrompt } from "../../engine/protocol/prompt.ts";
import { requireInfill } from "../admission/task-check.ts";

/** The prompt for the text between a prefix and a suffix, which stand alone. */
export function infillPrompt(prefix: string, suffix: string): InfillPrompt {
  return { kind: "infill", prefix, suffix, middle: "", repository: null };
}

/** Refuses fill-in-the-middle prompts that the model has no tokens for: 400 `unsupported_model`. */
export function checkInfill(submissions: readonly Asked[], facts: Pick<ModelFacts, "infill">): void {
  if (submissions.some(({ prompt }) => prompt.kind === "infill")) requireInfill(facts);
}
