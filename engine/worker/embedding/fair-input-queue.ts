import { FairQueue } from "../../../platform/fair-queue.ts";
import type { InputReading } from "./embedding-request.ts";

/**
 * The inputs of one tier that wait. Owners take turns by the tokens that were computed for them; of one owner the first to
 * arrive comes first. An input that has begun goes before all: so one at most is half computed.
 */
export class FairInputQueue {
  readonly #owners = new FairQueue();
  /** Of each owner that waits, by arrival. */
  readonly #inputs = new Map<string, InputReading[]>();

  get empty(): boolean {
    return this.#inputs.size === 0;
  }

  push(input: InputReading): void {
    const { owner } = input.reading;
    const inputs = this.#inputs.get(owner);
    if (inputs !== undefined) {
      inputs.push(input);
      return;
    }
    this.#inputs.set(owner, [input]);
    this.#owners.join(owner);
  }

  /** Takes those of an owner out for which this is true. */
  remove(owner: string, gone: (input: InputReading) => boolean): void {
    const left = this.#inputs.get(owner)?.filter((input) => !gone(input)) ?? [];
    if (left.length > 0) {
      this.#inputs.set(owner, left);
      return;
    }
    this.#inputs.delete(owner);
    this.#owners.leave(owner);
  }

  delete(input: InputReading): void {
    this.remove(input.reading.owner, (one) => one === input);
  }

  /** So many tokens of this owner's were computed. */
  charge(owner: string, tokens: number): void {
    this.#owners.charge(owner, tokens);
  }

  /** As they would begin if all did now; worked out as far as it is asked for. */
  *[Symbol.iterator](): Generator<InputReading, void> {
    const lines = [...this.#inputs].map(([owner, inputs]) => {
      const served = this.#owners.served(owner);
      const begun = inputs[0] !== undefined && inputs[0].place >= 0;
      return { served: begun ? Number.NEGATIVE_INFINITY : served, account: served, inputs, next: 0 };
    });
    for (;;) {
      let least: (typeof lines)[number] | null = null;
      // Lines stand in the order in which their owners joined, which decides between equals.
      for (const line of lines) {
        if (line.next < line.inputs.length && (least === null || line.served < least.served)) least = line;
      }
      if (least === null) return;
      const input = least.inputs[least.next++]!;
      least.account += input.tokens.length - input.computed;
      least.served = least.account;
      yield input;
    }
  }
}
