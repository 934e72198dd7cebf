import type { InputReading } from "./reading.ts";

interface Line {
  /** Tokens computed for this owner since it joined, on top of the clock of then. */
  served: number;
  /** By arrival. */
  inputs: InputReading[];
}

/**
 * The inputs of one tier that wait. Owners take turns, next is who was served the fewest tokens, and of one owner who came
 * first. Who joins begins at the queue's clock, which runs as the account of an owner with a fair share does, as in
 * scheduler/order.ts. An input that has begun goes before all: so one at most is half computed.
 */
export class InputQueue {
  readonly #lines = new Map<string, Line>();
  #clock = 0;

  get empty(): boolean {
    return this.#lines.size === 0;
  }

  push(input: InputReading): void {
    const { owner } = input.reading;
    const line = this.#lines.get(owner) ?? { served: this.#clock, inputs: [] };
    this.#lines.set(owner, line);
    line.inputs.push(input);
  }

  /** Takes those of an owner out for which this is true. */
  remove(owner: string, gone: (input: InputReading) => boolean): void {
    const line = this.#lines.get(owner);
    if (line === undefined) return;
    line.inputs = line.inputs.filter((input) => !gone(input));
    if (line.inputs.length === 0) this.#lines.delete(owner);
  }

  delete(input: InputReading): void {
    const line = this.#lines.get(input.reading.owner);
    const at = line?.inputs.indexOf(input) ?? -1;
    if (line === undefined || at < 0) return;
    line.inputs.splice(at, 1);
    if (line.inputs.length === 0) this.#lines.delete(input.reading.owner);
  }

  /** So many tokens of this owner's were computed. */
  charge(owner: string, tokens: number): void {
    const line = this.#lines.get(owner);
    if (line === undefined) return;
    line.served += tokens;
    this.#clock += tokens / this.#lines.size;
  }

  /** As they would begin if all did now; worked out as far as it is asked for. */
  *[Symbol.iterator](): Generator<InputReading, void> {
    const lines = [...this.#lines.values()].map(({ served, inputs }) => {
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
