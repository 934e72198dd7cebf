import type { PlanLimits } from "../cost/step-caps.ts";
import type { LowerTier } from "./scheduled-sequence.ts";
import { isDecode, isOnline, type Sequence } from "./scheduled-sequence.ts";

/** What a step is of where it can't be of both. */
export type StepKind = "decodes" | "prompts";

/** Steps in a row that may read prompts of batch while other lines of it could decode. */
const PROMPT_STEPS = 8;
/** The same of online prompts that outnumber the streams, where a single one makes these miss their objective. */
const BURST_STEPS = 4;
/** Of the longer step of the two: what comes close to it is as full. */
const AS_FULL = 0.9;

/**
 * Says what kind of step comes next in a split cache, where llama.cpp computes decodes and prompts of one batch in passes
 * of their own, one after the other. As steps of their own they cost the same, and each tells its tokens as soon as they
 * are there; a cap, too, has the overhead of one pass in it instead of that of two or more.
 *
 * Streams and online prompts take turns, and so do those of flex when nobody is online. In a burst that makes the streams
 * miss their objective anyway, some steps of prompts come in a row: fewer gaps miss it, and more sequences then decode at
 * once. Batch alone does what fills a step better, prompts when both do: the more lines decode at once, the less each costs.
 */
export class Alternation {
  readonly #limits: Pick<PlanLimits, "itlMs">;
  /** Steps of prompts since the last of decodes. */
  #prompts = 0;

  constructor(limits: Pick<PlanLimits, "itlMs">) {
    this.#limits = limits;
  }

  /**
   * @param stepMs how long a step of one kind would take; 0 where it would have nobody
   * @returns null when there is no choice to be made
   */
  next(running: readonly Sequence[], overdue: LowerTier | null, stepMs: (kind: StepKind) => number): StepKind | null {
    const decodes = running.filter(isDecode);
    if (decodes.length === 0 || decodes.length === running.length) return null;
    const prompts = running.filter((sequence) => !isDecode(sequence));
    const streams = decodes.filter(isOnline).length;
    const online = prompts.filter(isOnline).length;
    if (streams > 0 && online > 0) {
      const burst = online > streams && stepMs("prompts") + stepMs("decodes") > this.#limits.itlMs;
      return this.#turn(burst ? BURST_STEPS : 1);
    }
    // Only flex goes on beside online work whatever the tax.
    if (overdue === "flex" || (overdue === "batch" && streams + online === 0)) {
      const late = ({ tier }: Sequence) => tier === overdue;
      if (!decodes.some(late)) return "prompts";
      return prompts.some(late) ? this.#turn(1) : "decodes";
    }
    if (online > 0) return "prompts";
    // Beside streams lower prompts have a step when the tax has paid for one.
    if (streams > 0) return stepMs("prompts") > 0 ? this.#turn(1) : "decodes";
    const isFlex = ({ tier }: Sequence) => tier === "flex";
    if (prompts.some(isFlex)) return this.#turn(decodes.some(isFlex) ? 1 : PROMPT_STEPS);
    if (this.#prompts >= (decodes.some(isFlex) ? 1 : PROMPT_STEPS)) return "decodes";
    return stepMs("prompts") >= AS_FULL * stepMs("decodes") ? "prompts" : "decodes";
  }

  /** Once for each step, with who is in it. */
  count(planned: readonly Sequence[]): void {
    if (planned.some(isDecode)) this.#prompts = 0;
    else if (planned.length > 0) this.#prompts++;
  }

  #turn(most: number): StepKind {
    return this.#prompts < most ? "prompts" : "decodes";
  }
}
