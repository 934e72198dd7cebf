import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { HostMemory } from "../../../../../engine/worker/kv/host-memory.ts";

const FREELY = { online: Number.POSITIVE_INFINITY, lower: Number.POSITIVE_INFINITY };

/** Host memory whose copies take as long as the test says; a token is 1,000 bytes, and 1 ms to compute. */
class DrivenHostMemory {
  readonly host: HostMemory;
  now = 0;
  /** Milliseconds of the next copy. */
  copyMs = 0.01;
  copies = 0;

  constructor(tokens: number) {
    this.host = new HostMemory({
      bytes: 1000 * tokens,
      tokenBytes: 1000,
      stateBytes: 0,
      reuse: "parts",
      recomputeMs: (from, to) => to - from,
      now: () => this.now,
    });
    this.host.copies.allow(FREELY);
  }

  offload(tokens: number[], from = 0, scope = ""): boolean {
    return this.host.offload({ id: 0, tokens, computed: tokens.length, scope }, from, () => {
      this.#copy();
      return new Uint8Array(1000 * (tokens.length - from));
    });
  }

  /** Tokens that a prompt gets from host memory. */
  found(tokens: number[], found = 0, scope = "", online = true): number {
    const back = this.host.find({ id: -1, tokens, computed: 0, scope }, tokens.length, found, online);
    return back?.length ?? 0;
  }

  restore(tokens: number[]): boolean {
    const back = this.host.find({ id: -1, tokens, computed: 0, scope: "" }, tokens.length, 0, true)!;
    return this.host.restore(back, () => {
      this.#copy();
      return true;
    });
  }

  #copy(): void {
    this.now += this.copyMs;
    this.copies++;
  }
}

const text = (seed: number, length: number) => Array.from({ length }, (_, i) => 1000 * seed + i);

describe("host memory", () => {
  test("drops the least recently used first, within its bound", () => {
    const driven = new DrivenHostMemory(100);
    for (const seed of [1, 2]) expect(driven.offload(text(seed, 40))).toBe(true);
    driven.restore(text(1, 40));
    expect(driven.offload(text(3, 40))).toBe(true);
    expect([1, 2, 3].map((seed) => driven.found(text(seed, 40)))).toEqual([40, 0, 40]);
    expect(driven.host.copies.used).toBe(80_000);
    expect(driven.offload(text(4, 101))).toBe(false);
  });

  test("copies no known prefix again, and replaces one by its extension", () => {
    const driven = new DrivenHostMemory(100);
    driven.offload(text(1, 30));
    expect(driven.offload(text(1, 30))).toBe(true);
    expect(driven.offload(text(1, 20))).toBe(true);
    expect(driven.copies).toBe(1);
    expect(driven.offload(text(1, 50))).toBe(true);
    expect(driven.host.copies.used).toBe(50_000);
  });

  test("restores a state without its beginning only for sequences that have that", () => {
    const driven = new DrivenHostMemory(100);
    driven.offload(text(1, 50), 30);
    expect(driven.host.copies.used).toBe(20_000);
    expect(driven.found(text(1, 50), 29)).toBe(0);
    expect(driven.found(text(1, 50), 30)).toBe(50);
  });

  test("finds nothing of another scope", () => {
    const driven = new DrivenHostMemory(100);
    driven.offload(text(1, 50), 0, "theirs");
    expect(driven.found(text(1, 50), 0, "ours")).toBe(0);
    expect(driven.found(text(1, 50), 0, "theirs")).toBe(50);
  });

  test("stops copies that are slower than computing, and tries them again later", () => {
    const driven = new DrivenHostMemory(1000);
    driven.copyMs = 100;
    const taken = Array.from({ length: 20 }, (_, seed) => driven.offload(text(seed, 50)));
    expect(taken).toEqual([...Array(13).fill(true), ...Array(7).fill(false)]);
    for (let step = 0; step < 1000; step++) driven.host.copies.allow(FREELY);
    expect(driven.offload(text(19, 50))).toBe(true);
  });

  test("copies within the budget of a step; online work has its own", () => {
    const driven = new DrivenHostMemory(1000);
    driven.offload(text(1, 200));
    // 200 tokens are 200,000 bytes: 0.2 ms at the first rate.
    driven.host.copies.allow({ online: 1, lower: 0.1 });
    expect(driven.offload(text(2, 200))).toBe(false);
    expect(driven.found(text(1, 200), 0, "", false)).toBe(0);
    expect(driven.found(text(1, 200), 0, "", true)).toBe(200);
    driven.copyMs = 1;
    driven.restore(text(1, 200));
    expect(driven.host.copies.spentMs).toBe(1);
    expect(driven.found(text(1, 200), 0, "", true)).toBe(0);
  });
});

test("bytes stay within the bound, and a found prefix was offloaded", () => {
  const prompt = fc.array(fc.nat({ max: 1 }), { minLength: 1, maxLength: 12 });
  const action = fc.record({ tokens: prompt, from: fc.nat({ max: 6 }), offload: fc.boolean() });
  fc.assert(
    fc.property(fc.array(action, { maxLength: 40 }), fc.integer({ min: 1, max: 40 }), (actions, tokens) => {
      const driven = new DrivenHostMemory(tokens);
      const offloaded: number[][] = [];
      for (const { tokens: prompt, from, offload } of actions) {
        if (offload && driven.offload(prompt, Math.min(from, prompt.length - 1))) offloaded.push(prompt);
        expect(driven.host.copies.used).toBeLessThanOrEqual(1000 * tokens);
        const length = driven.found(prompt, from);
        if (length === 0) continue;
        expect(length).toBeGreaterThan(from);
        const held = offloaded.some((other) => prompt.slice(0, length).every((token, i) => other[i] === token));
        expect(held).toBe(true);
      }
    }),
  );
});
