import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ActiveBatch } from "../../../../batch/lines/active-batch.ts";
import { LineClaimer } from "../../../../batch/lines/line-claimer.ts";
import type { Store } from "../../../../store/store.ts";
import { chatLine, jsonl } from "../../../batch/batch-rig.ts";
import { FakeEngine, saying } from "../../server/fake-engine.ts";
import { batchRig } from "../batch-rig.ts";

const ENGINE = new FakeEngine();
const FREE = { lineRates: () => ({ inputNano: 0, outputNano: 0 }) };

function activeBatch(id: string, owner: string): ActiveBatch {
  const endpoint = "/v1/chat/completions";
  return new ActiveBatch({ id, owner, keyId: null, endpoint, expiresAt: 1, inputPath: "/nowhere" });
}

/** Claims from batches that never run out of lines; a line's tokens are `tokensOf` its batch. */
function endless(tokensOf: (batchId: string) => number = () => 100): LineClaimer {
  const claim: Store["claims"]["claim"] = async ({ batchIds, limit }) => {
    const batchId = batchIds[0]!;
    const estimatedTokens = tokensOf(batchId);
    const line = { attempt: 1, customId: "l", offset: 0, length: 1, estimatedTokens, suspect: 0, loneDeaths: 0 };
    return { lines: Array.from({ length: limit }, (_, number) => ({ batchId, number, ...line })), paused: [] };
  };
  const clock = { now: () => 0, epochMs: () => 0 };
  return new LineClaimer({ engine: ENGINE, store: { claims: { claim } as Store["claims"] }, ledger: FREE, clock });
}

describe("claims of one model's lines", () => {
  it("give an owner half of all claims while a new owner comes with each", async () => {
    const claimer = endless();
    const old = activeBatch("old", "old");
    await claimer.claim([old, activeBatch("first", "first")], 50);
    const claimed: string[] = [];
    for (let i = 0; i < 400; i++) {
      const lines = await claimer.claim([activeBatch(`new${i}`, `new${i}`), old], 4);
      claimed.push(lines![0]!.batchId);
    }
    const gaps = claimed
      .join(" ")
      .split(/\bold\b/)
      .map((between) => between.trim().split(" ").length);
    expect(claimed.filter((id) => id === "old").length).toBeGreaterThan(150);
    expect(Math.max(...gaps)).toBeLessThan(60);
  });

  it("give owners that always have lines the same number of tokens", async () => {
    const tokens = fc.record({ a: fc.integer({ min: 1, max: 500 }), b: fc.integer({ min: 1, max: 500 }) });
    const limits = fc.array(fc.integer({ min: 1, max: 32 }), { minLength: 20, maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(tokens, limits, async (tokensOf, limits) => {
        const claimer = endless((batchId) => (batchId === "a" ? tokensOf.a : tokensOf.b));
        const batches = [activeBatch("a", "a"), activeBatch("b", "b"), activeBatch("b, the second", "b")];
        const claimed = { a: 0, b: 0 };
        for (const limit of limits) {
          const lines = (await claimer.claim(batches, limit))!;
          const owner = lines[0]!.batchId === "a" ? "a" : "b";
          claimed[owner] += lines.length * tokensOf[owner];
          expect(Math.abs(claimed.a - claimed.b)).toBeLessThanOrEqual(32 * Math.max(tokensOf.a, tokensOf.b));
        }
      }),
    );
  });

  it("include a batch that rested after the wall clock was set back by hours", async () => {
    const time = { now: 1000, epochMs: 10 * 3_600_000 };
    const clock = { now: () => time.now, epochMs: () => time.epochMs };
    let ready = 0;
    const claim: Store["claims"]["claim"] = async () => ({ lines: [], paused: [] });
    const counted: Store["claims"]["claim"] = (args) => {
      ready++;
      return claim(args);
    };
    const store = { claims: { claim: counted } as Store["claims"] };
    const claimer = new LineClaimer({ engine: ENGINE, store, ledger: FREE, clock });
    const one = activeBatch("one", "a");
    expect(await claimer.claim([one], 1)).toEqual([]);
    expect(await claimer.claim([one], 1)).toBeNull();
    time.now += 1000;
    time.epochMs -= 2 * 3_600_000;
    expect(await claimer.claim([one], 1)).toEqual([]);
    expect(ready).toBe(2);
  });
});

it("an owner's small batch ends long before another owner's earlier large one", async () => {
  const engine = new FakeEngine();
  const held: { small: boolean; answer: () => void }[] = [];
  engine.script = (request) => {
    const small = JSON.stringify(request.submission.prompt).includes("small");
    held.push({ small, answer: () => saying("yes")(request) });
  };
  const rig = await batchRig(engine);
  const lines = (name: string, count: number) =>
    jsonl(Array.from({ length: count }, (_, i) => chatLine(`l${i}`, `${name} question ${i}`)));
  const large = await rig.submitAs("many", lines("large", 400));
  await expect.poll(() => held.length).toBeGreaterThan(0);
  const small = await rig.submitAs("few", lines("small", 10));
  await expect.poll(async () => (await rig.batches.get("few", small)).status).toBe("in_progress");
  const left = { small: 10, large: 400 };
  while (left.small > 0) {
    await expect.poll(() => held.length).toBeGreaterThan(0);
    const next = held.shift()!;
    left[next.small ? "small" : "large"]--;
    next.answer();
  }
  await expect.poll(async () => (await rig.batches.get("few", small)).status).toBe("completed");
  expect((await rig.batches.get("many", large)).status).toBe("in_progress");
  expect(left.large).toBeGreaterThan(150);
});
