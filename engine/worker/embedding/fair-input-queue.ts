import { FairQueue } from "../../../platform/fair-queue.ts";
import type { QueuedInput } from "./embedding-request.ts";

/**
 * The waiting inputs of one tier, in the order of a fair queue over owners by computed tokens; the inputs of one owner are
 * in the order of their arrival. A partly computed input precedes all others, so at most one is partly computed.
 */
export class FairInputQueue {
  readonly #fair = new FairQueue();
  /** Of each owner that waits, by arrival. */
  readonly #inputs = new Map<string, QueuedInput[]>();

  get empty(): boolean {
    return this.#inputs.size === 0;
  }

  push(input: QueuedInput): void {
    const { owner } = input.request;
    const inputs = this.#inputs.get(owner);
    if (inputs === undefined) this.#inputs.set(owner, [input]);
    else inputs.push(input);
    this.#fair.join(owner);
  }

  /** Removes the inputs of an owner for which this is true. */
  remove(owner: string, removed: (input: QueuedInput) => boolean): void {
    const before = this.#inputs.get(owner) ?? [];
    const left = before.filter((input) => !removed(input));
    if (left.length > 0) this.#inputs.set(owner, left);
    else this.#inputs.delete(owner);
    for (let i = left.length; i < before.length; i++) this.#fair.leave(owner);
  }

  delete(input: QueuedInput): void {
    this.remove(input.request.owner, (other) => other === input);
  }

  /** This many tokens of the owner's inputs were computed. */
  charge(owner: string, tokens: number): void {
    this.#fair.charge(owner, tokens);
  }

  /** In the order in which they would begin if all did now; computed as far as it is read. */
  [Symbol.iterator](): Generator<QueuedInput, void> {
    return this.#fair.order(
      this.#inputs,
      ({ tokens, computed }) => tokens.length - computed,
      ({ sequenceId }) => sequenceId >= 0,
    );
  }
}
