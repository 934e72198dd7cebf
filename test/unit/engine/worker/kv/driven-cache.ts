import { expect } from "vitest";
import { FakeMemory, hostMemory } from "../../../../../bench/scheduler/fake-memory.ts";
import type { CachedSequence } from "../../../../../engine/worker/kv/cached-sequence.ts";
import type { KvCache } from "../../../../../engine/worker/kv/kv-cache.ts";
import { SplitCache } from "../../../../../engine/worker/kv/split-cache.ts";
import { UnifiedCache } from "../../../../../engine/worker/kv/unified-cache.ts";

/** Tokens that are different for each seed. */
export function text(seed: number, length: number): number[] {
  return Array.from({ length }, (_, i) => 1000 * seed + i);
}

/** A cache over a checking memory, without a scheduler: every prompt is computed at once, then all online sequences decode. */
export class DrivenCache {
  readonly memory: FakeMemory;
  readonly cache: KvCache;
  readonly #streams = new Set<CachedSequence>();

  constructor(kind: "split" | "unified", ids: number, cells: number, copyPrice = 8, reserved = 0, hostTokens = 0) {
    this.memory = new FakeMemory({ kind, ids, cells });
    const host = hostMemory(hostTokens);
    host.copies.allow({ online: Number.POSITIVE_INFINITY, lower: Number.POSITIVE_INFINITY });
    this.cache =
      kind === "split"
        ? new SplitCache(this.memory, host, { ids, capacity: cells, copyPrice, reserved, reuse: "parts" })
        : new UnifiedCache(this.memory, host, { ids, cells, reserved, reuse: "parts" });
  }

  /** Places and computes the whole prompt. @returns null when it cannot be placed */
  start(tokens: number[], online = true) {
    const sequence = { id: -1, tokens, computed: 0, scope: "" };
    if (!this.cache.place(sequence, online)) return null;
    const cached = sequence.computed;
    const count = tokens.length - cached;
    expect(this.cache.extend(sequence, count)).toBe(true);
    this.memory.decode([{ sequence, count }]);
    sequence.computed += count;
    if (online) this.#streams.add(sequence);
    this.cache.settle([...this.#streams]);
    this.memory.decode([]);
    const end = (passing = false) => {
      this.#streams.delete(sequence);
      this.cache.release(sequence, passing);
    };
    return { sequence, cached, end };
  }

  /** Starts and ends a sequence. @returns the tokens that it found */
  visit(tokens: number[]): number | undefined {
    const started = this.start(tokens);
    started?.end();
    return started?.cached;
  }
}
