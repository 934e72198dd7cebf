import { isDecode, type Sequence } from "./scheduled-sequence.ts";
import { isOnline, type LowerTier } from "./tiers.ts";

/** The kind of a step that cannot have both. */
export type StepKind = "decodes" | "prompts";

/** Most consecutive steps of batch prompts while other batch sequences could decode. */
const PROMPT_STEPS = 8;
/** A step that takes at least this part of the other kind's step is as full as that one. */
const AS_FULL = 0.9;

/**
 * Chooses the kind of the next step in a split cache, and beside online work of a model with recurrent state in any cache: there
 * llama.cpp computes decodes and prompts of one batch in passes of their own, one after the other. As separate steps they cost the
 * same, and each one's tokens are known as soon as it ends. A cap, too, then contains the overhead of one pass and not of several.
 *
 * Streams and online prompts alternate, and so do those of flex while no online work runs. Batch alone computes the kind that
 * fills a step better, prompts when both do: the more sequences decode in one step, the less each costs.
 */
export class StepKindPolicy {
  /** Steps of prompts since the last step with decodes. */
  #promptSteps = 0;

  /**
   * @param overdue the tier that was skipped for too long
   * @param stepMs the predicted time of a step of one kind; 0 where it would be empty
   * @returns null where the sequences are of one kind
   */
  choose(running: readonly Sequence[], overdue: LowerTier | null, stepMs: (kind: StepKind) => number): StepKind | null {
    const decodes = running.filter(isDecode);
    if (decodes.length === 0 || decodes.length === running.length) return null;
    const prompts = running.filter((sequence) => !isDecode(sequence));
    const streams = decodes.filter(isOnline).length;
    const online = prompts.filter(isOnline).length;
    if (streams > 0 && online > 0) return this.#alternate(1);
    // Beside online work flex alone makes progress past the tax.
    if (overdue === "flex" || (overdue === "batch" && streams + online === 0)) {
      const isOverdue = ({ tier }: Sequence) => tier === overdue;
      if (!decodes.some(isOverdue)) return "prompts";
      return prompts.some(isOverdue) ? this.#alternate(1) : "decodes";
    }
    if (online > 0) return "prompts";
    // Beside streams, prompts of lower tiers have a step when the saved tax pays for one.
    if (streams > 0) return stepMs("prompts") > 0 ? this.#alternate(1) : "decodes";
    const isFlex = ({ tier }: Sequence) => tier === "flex";
    if (prompts.some(isFlex)) return this.#alternate(decodes.some(isFlex) ? 1 : PROMPT_STEPS);
    if (this.#promptSteps >= (decodes.some(isFlex) ? 1 : PROMPT_STEPS)) return "decodes";
    return stepMs("prompts") >= AS_FULL * stepMs("decodes") ? "prompts" : "decodes";
  }

  /** Takes the sequences of each step, once. */
  count(planned: readonly Sequence[]): void {
    if (planned.some(isDecode)) this.#promptSteps = 0;
    else if (planned.length > 0) this.#promptSteps++;
  }

  #alternate(mostPromptSteps: number): StepKind {
    return this.#promptSteps < mostPromptSteps ? "prompts" : "decodes";
  }
}
