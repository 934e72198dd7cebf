import type { Context } from "../native/context.ts";
import { deepState } from "./deep-state.ts";
import type { ProbeShape } from "./sample.ts";

/** Times steps of a context that has no other user. Every id is empty before and after. */
export class Probe {
  readonly #context: Pick<Context, "batch" | "memory" | "decode">;
  readonly #clocks: readonly (() => number)[];
  /** States by depth; null where one is not possible. */
  readonly #states = new Map<number, Uint8Array | null>();

  /** @param clocks the least of their durations counts */
  constructor(context: Pick<Context, "batch" | "memory" | "decode">, clocks: readonly (() => number)[]) {
    this.#context = context;
    this.#clocks = clocks;
  }

  /** @returns the milliseconds of one step; null where the depth is not possible */
  async time({ rows, sequences, depth }: ProbeShape): Promise<number | null> {
    const { memory } = this.#context;
    const ids = Array.from({ length: sequences }, (_, id) => id);
    try {
      for (const id of ids) if (!(await this.#fill(id, depth))) return null;
      return await this.#step(ids, rows, depth);
    } finally {
      for (const id of ids) memory.remove(id, -1, -1);
    }
  }

  async #fill(id: number, depth: number): Promise<boolean> {
    if (depth === 0) return true;
    if (!this.#states.has(depth)) this.#states.set(depth, await this.#deepState(depth));
    const state = this.#states.get(depth)!;
    return state !== null && this.#context.memory.load(id, state);
  }

  async #deepState(depth: number): Promise<Uint8Array | null> {
    const { memory } = this.#context;
    await this.#step([0], 1, 0);
    const state = memory.save(0);
    memory.remove(0, -1, -1);
    return state === null ? null : deepState(state, depth);
  }

  async #step(ids: number[], rows: number, depth: number): Promise<number> {
    const { batch } = this.#context;
    batch.clear();
    // The token makes no difference; every vocabulary has this one.
    for (const id of ids) for (let i = 0; i < rows; i++) batch.add(1, depth + i, id, i === rows - 1);
    const begins = this.#clocks.map((clock) => clock());
    await this.#context.decode();
    return Math.min(...this.#clocks.map((clock, i) => clock() - begins[i]!));
  }
}
