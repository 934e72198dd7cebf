import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { BatchValidation, type BatchValidationDeps } from "../../../../batch/validation/batch-validation.ts";
import type { Validation } from "../../../../batch/validation/line-validator.ts";
import { OWN_NAMES } from "../../../../engine/model-names.ts";
import { DEFAULT_REQUEST_LIMITS } from "../../../../openapi/request-limits.ts";
import type { BatchRow } from "../../../../store/types/batch-row.ts";

const MIB = 1024 ** 2;
const GIB = 1024 ** 3;
const VALID: Validation = { valid: true, model: "demo", lines: 1 };

/** A validation that has begun. */
interface Begun {
  owner: string;
  bytes: number;
  end: () => void;
}

/** As many large files as are validated at once. */
const AT_ONCE = 2;

/** Batch validation over large files that have a size and no content. The test ends each validation. */
class Rig {
  /** In the order in which they began. */
  readonly begun: Begun[] = [];
  readonly #running: Begun[] = [];
  /** Sizes of each owner's files that have not begun, in the order in which they came. */
  readonly #waiting = new Map<string, number[]>();
  readonly #validation: BatchValidation;

  constructor() {
    const store = {
      files: { get: async ({ id }: { id: string }) => ({ purpose: "batch", bytes: Number(id) }) },
      lines: { remove: async () => 0 },
      batches: { countValidations: async () => true, begin: async () => true },
    };
    this.#validation = new BatchValidation({
      store: store as object as BatchValidationDeps["store"],
      files: { pathOf: () => fileURLToPath(import.meta.url) },
      models: () => ["demo"],
      names: OWN_NAMES,
      modelsOf: async () => null,
      bounds: () => new Map(),
      validate: ({ owner }) => new Promise((resolve) => this.#begin(owner, () => resolve(VALID))),
      quota: { fault: async () => null },
      failedEvents: () => [],
      failedResponse: () => null,
      eventsQueued: () => {},
      limits: DEFAULT_REQUEST_LIMITS,
      maxLines: 1,
      maxLineBytes: 1,
      clock: { settled: true, now: () => 0, epochMs: () => 0 },
      log: { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} },
    });
  }

  /** Resolves when the file waits or its validation has begun. */
  async add(owner: string, bytes: number): Promise<void> {
    this.#waiting.set(owner, [...(this.#waiting.get(owner) ?? []), bytes]);
    const batch = { id: "batch", owner, inputFileId: String(bytes), validations: 0, keyId: null };
    const { signal } = new AbortController();
    // A file that enters the queue listens to its batch's signal.
    const listen = vi.spyOn(signal, "addEventListener");
    void this.#validation.run(batch as BatchRow, signal);
    while (listen.mock.calls.length === 0) await new Promise(setImmediate);
    await this.#filled();
  }

  /** Ends the validation that began first. */
  async endFirst(): Promise<void> {
    this.#running.shift()?.end();
    await this.#filled();
  }

  #begin(owner: string, end: () => void): void {
    const waiting = this.#waiting.get(owner)!;
    const one = { owner, bytes: waiting.shift()!, end };
    if (waiting.length === 0) this.#waiting.delete(owner);
    this.begun.push(one);
    this.#running.push(one);
  }

  async #filled(): Promise<void> {
    const full = () => {
      const running = new Set(this.#running.map(({ owner }) => owner));
      return running.size === AT_ONCE || [...this.#waiting.keys()].every((owner) => running.has(owner));
    };
    while (!full()) await new Promise(setImmediate);
  }
}

describe("the order in which batches of several owners are validated", () => {
  it("still serves an owner that was served much while a new owner comes with each file", async () => {
    const rig = new Rig();
    for (let i = 0; i < 12; i++) await rig.add("old", GIB);
    await rig.add("first", GIB);
    await rig.add("second", GIB);
    for (let i = 0; i < 40; i++) {
      await rig.add(`new${i}`, GIB);
      await rig.endFirst();
    }
    expect(rig.begun.filter(({ owner }) => owner === "old").length).toBeGreaterThanOrEqual(5);
  });

  it("gives owners that always have a file the same number of bytes", async () => {
    const most = 64;
    const sizes = fc.array(fc.integer({ min: 2, max: most }), { minLength: 8, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(fc.array(sizes, { minLength: 4, maxLength: 4 }), async (files) => {
        const rig = new Rig();
        for (const [i, list] of files.entries()) for (const size of list) await rig.add(`owner${i}`, size * MIB);
        const left = files.map((list) => list.length);
        const served = files.map(() => 0);
        for (let at = 0; at < rig.begun.length; at++) {
          const { owner, bytes } = rig.begun[at]!;
          const i = Number(owner.slice("owner".length));
          served[i]! += bytes / MIB;
          if (--left[i]! === 0) break;
          // One file of each owner runs at a time, which may keep it one file behind.
          expect(Math.max(...served) - Math.min(...served)).toBeLessThanOrEqual(3 * most);
          await rig.endFirst();
        }
      }),
      { numRuns: 20 },
    );
  });
});
