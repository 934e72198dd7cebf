import type { PlanLimits } from "../cost/step-caps.ts";
import { shortestChunk } from "./chunk.ts";
import { isDecode, type Sequence } from "./scheduled-sequence.ts";
import type { StepDraft } from "./step-draft.ts";
import { isOnline } from "./tiers.ts";

/**
 * Steps of lower tiers alone beside streams and online prompts, whose steps have no room for them: in steps of one kind streams
 * and prompts alternate, in mixed ones the chunk of a prompt fills the objective. Such a step follows one of streams, and
 * the next chunk of online prompts is shorter by it. It never precedes an online request's first step.
 */
export class LowerTierStep<S extends Sequence> {
  /** Online sequences that a step had. */
  readonly #begun = new WeakSet<S>();
  #followsStreams = false;
  #lowerMs = 0;

  /** The predicted time of the last step if it was of lower tiers alone and followed one of streams, else 0. */
  get lowerMs(): number {
    return this.#lowerMs;
  }

  /** @param waiting the first waiting sequence, if there is one */
  isDue(running: readonly S[], waiting: S | undefined): boolean {
    if (!this.#followsStreams || (waiting !== undefined && isOnline(waiting))) return false;
    const online = running.filter(isOnline);
    const prompts = online.filter((sequence) => !isDecode(sequence));
    return (
      prompts.length > 0 && prompts.length < online.length && online.every((sequence) => this.#begun.has(sequence))
    );
  }

  /** Takes the sequences of each step, once. */
  count(planned: readonly S[], predictedMs: number): void {
    const online = planned.filter(isOnline);
    for (const sequence of online) this.#begun.add(sequence);
    this.#lowerMs = online.length === 0 && this.#followsStreams ? predictedMs : 0;
    this.#followsStreams = online.some(isDecode);
  }
}

/** The predicted time of the next tokens of all streams and the shortest chunk of the first online prompt, in one step or in two. */
export function leastOnlineMs<S extends Sequence>(
  running: readonly S[],
  limits: PlanLimits,
  empty: StepDraft<S>,
): number {
  const online = running.filter(isOnline);
  const streams = empty.another();
  for (const sequence of online) if (isDecode(sequence)) streams.add(sequence, 1);
  const prompt = online.find((sequence) => !isDecode(sequence));
  if (prompt === undefined) return streams.ms;
  const chunk = empty.ofOneKind ? empty : streams;
  return (empty.ofOneKind ? streams.ms : 0) + chunk.msWith(prompt, shortestChunk(prompt, chunk, limits));
}
