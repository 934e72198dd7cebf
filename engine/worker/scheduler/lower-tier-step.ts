import type { PlanLimits } from "../cost/step-caps.ts";
import { shortest } from "./chunk.ts";
import { isDecode, isOnline, type Sequence } from "./scheduled-sequence.ts";
import type { StepDraft } from "./step-draft.ts";

/**
 * Says when lower tiers may have a step of their own beside streams and online prompts, which leave them no part of one: in
 * a split cache these take turns, in a unified one the chunk of prompts fills the objective. Such a step follows one of
 * streams, and the next chunk of online prompts is shorter by it. Never does it come before an online request's first step.
 */
export class LowerTurn<S extends Sequence> {
  readonly #begun = new WeakSet<S>();
  #followsStreams = false;
  #lowerMs = 0;

  /** What the last step has taken if it was of lower tiers alone and followed one of streams. */
  get lowerMs(): number {
    return this.#lowerMs;
  }

  /** @param waiting the first that waits, if any does */
  isNext(running: readonly S[], waiting: S | undefined): boolean {
    if (!this.#followsStreams || (waiting !== undefined && isOnline(waiting))) return false;
    const online = running.filter(isOnline);
    const prompts = online.filter((sequence) => !isDecode(sequence));
    return (
      prompts.length > 0 && prompts.length < online.length && online.every((sequence) => this.#begun.has(sequence))
    );
  }

  /** Once for each step. */
  count(planned: readonly S[], predictedMs: number): void {
    const online = planned.filter(isOnline);
    for (const sequence of online) this.#begun.add(sequence);
    this.#lowerMs = online.length === 0 && this.#followsStreams ? predictedMs : 0;
    this.#followsStreams = online.some(isDecode);
  }
}

/**
 * What the next tokens of the streams and the shortest chunk of the first online prompt take.
 *
 * @param split whether these are steps of their own
 */
export function leastOnlineMs<S extends Sequence>(
  running: readonly S[],
  limits: PlanLimits,
  empty: StepDraft<S>,
  split: boolean,
): number {
  const online = running.filter(isOnline);
  const streams = empty.another();
  for (const sequence of online) if (isDecode(sequence)) streams.add(sequence, 1);
  const prompt = online.find((sequence) => !isDecode(sequence));
  if (prompt === undefined) return streams.ms;
  const chunk = split ? empty : streams;
  return (split ? streams.ms : 0) + chunk.msWith(prompt, shortest(prompt, chunk, limits));
}
