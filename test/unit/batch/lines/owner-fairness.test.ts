import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ActiveBatch } from "../../../../batch/lines/active-batch.ts";
import { LineClaimer } from "../../../../batch/lines/line-claimer.ts";
import { fairEnds } from "../../../../batch/shift/fair-completion.ts";
import type { Clock } from "../../../../platform/clock.ts";
import type { Store } from "../../../../store/store.ts";
import { chatLine, jsonl } from "../../../batch/batch-rig.ts";
import { FakeEngine, saying } from "../../server/fake-engine.ts";
import { nightRig } from "../batch-rig.ts";

describe("claims of one model's lines", () => {
  const engine = new FakeEngine();
  const ledger = { lineRates: () => ({ inputNano: 0, outputNano: 0 }) };
  const member = (id: string, owner: string) =>
    new ActiveBatch({
      id,
      owner,
      keyId: null,
      endpoint: "/v1/chat/completions",
      expiresAt: 1,
      inputPath: "/nowhere",
    });

  /** Every batch has lines of 100 tokens without end, as long as it is among the members. */
  function endless(clock: Clock) {
    const claim: Store["claims"]["claim"] = async ({ batchIds, limit }) => {
      const line = { attempt: 1, customId: "l", offset: 0, length: 1, estimatedTokens: 100, suspect: 0, loneDeaths: 0 };
      const lines = Array.from({ length: limit }, (_, number) => ({ batchId: batchIds[0]!, number, ...line }));
      return { lines, paused: [] };
    };
    const claims = { claim } as Store["claims"];
    return new LineClaimer({ engine, store: { claims }, ledger, clock });
  }

  it("are an owner's in half of all turns while a new owner comes with each", async () => {
    const claimer = endless({ now: () => 0, epochMs: () => 0 });
    const old = member("old", "old");
    await claimer.claim([old, member("first", "first")], 50);
    const turns: string[] = [];
    for (let i = 0; i < 400; i++) {
      const lines = await claimer.claim([member(`new${i}`, `new${i}`), old], 4);
      turns.push(lines![0]!.batchId);
    }
    const gaps = turns
      .join(" ")
      .split(/\bold\b/)
      .map((between) => between.trim().split(" ").length);
    expect(turns.filter((id) => id === "old").length).toBeGreaterThan(150);
    expect(Math.max(...gaps)).toBeLessThan(60);
  });

  it("look again at a batch that rested, though the wall clock was set back by hours", async () => {
    const time = { now: 1000, epochMs: 10 * 3_600_000 };
    const clock = { now: () => time.now, epochMs: () => time.epochMs };
    let ready = 0;
    const claim: Store["claims"]["claim"] = async () => ({ lines: [], paused: [] });
    const counted: Store["claims"]["claim"] = (args) => {
      ready++;
      return claim(args);
    };
    const claimer = new LineClaimer({
      engine,
      store: { claims: { claim: counted } as Store["claims"] },
      ledger,
      clock,
    });
    const one = member("one", "a");
    expect(await claimer.claim([one], 1)).toEqual([]);
    expect(await claimer.claim([one], 1)).toBeNull();
    time.now += 1000;
    time.epochMs -= 2 * 3_600_000;
    expect(await claimer.claim([one], 1)).toEqual([]);
    expect(ready).toBe(2);
  });
});

describe("ends under fair turns", () => {
  it("of one owner come one after the other", () => {
    const batches = [3, 5, 0, 2].map((remainingTokens) => ({ owner: "a", remainingTokens }));
    expect(fairEnds(batches)).toEqual([3, 8, 8, 10]);
  });

  it("hold nobody up by more than as much of every other owner's", () => {
    const batch = fc.record({
      owner: fc.constantFrom("a", "b", "c"),
      remainingTokens: fc.integer({ min: 0, max: 1000 }),
    });
    fc.assert(
      fc.property(fc.array(batch, { maxLength: 20 }), (batches) => {
        const ends = fairEnds(batches);
        const total = batches.reduce((sum, { remainingTokens }) => sum + remainingTokens, 0);
        expect(Math.max(0, ...ends)).toBe(total);
        for (const [index, { owner }] of batches.entries()) {
          const own = batches
            .slice(0, index + 1)
            .reduce((sum, each) => sum + (each.owner === owner ? each.remainingTokens : 0), 0);
          const others = new Map<string, number>();
          for (const each of batches) {
            if (each.owner === owner) continue;
            others.set(each.owner, (others.get(each.owner) ?? 0) + each.remainingTokens);
          }
          const most = [...others.values()].reduce((sum, tokens) => sum + Math.min(tokens, own), own);
          expect(ends[index]).toBe(most);
        }
      }),
    );
  });
});

it("an owner's small batch ends long before another's large one that came first", async () => {
  const engine = new FakeEngine();
  const held: { small: boolean; answer: () => void }[] = [];
  engine.script = (request) => {
    const small = JSON.stringify(request.submission.prompt).includes("small");
    held.push({ small, answer: () => saying("yes")(request) });
  };
  const rig = await nightRig(engine);
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
