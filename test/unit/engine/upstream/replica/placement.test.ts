import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { Random } from "../../../../../bench/base/random.ts";
import { type Candidate, Placement } from "../../../../../engine/upstream/replica/placement.ts";
import {
  BLOCK_CHARS,
  MAX_BLOCKS,
  prefixBlocks,
  RememberedBlocks,
} from "../../../../../engine/upstream/replica/prefix-blocks.ts";

const IDLE: Omit<Candidate, "id"> = {
  ...{ weight: 1, healthy: true, tried: false, requests: 0, tokens: 0, kvUsed: null },
};
const replica = (id: string, fields: Partial<Candidate> = {}): Candidate => ({ id, ...IDLE, ...fields });
const text = (blocks: number, letter = "x") => letter.repeat(blocks * BLOCK_CHARS);

/** The same numbers in every run. */
function seeded(seed: number): () => number {
  const random = new Random(seed);
  return () => random.next();
}

/** A placement that would draw the first two replicas. */
const placement = () => new Placement(() => 0);
const chosen = (one: Placement, all: readonly Candidate[], blocks: readonly number[] = []) =>
  one.choose(all, blocks)?.replica.id;

describe("blocks of a prompt", () => {
  it("are in common as far as whole blocks are", () => {
    const [a, b] = [`${text(3)}${text(2, "a")}`, `${text(3)}${text(2, "b")}`].map((one) => prefixBlocks("", one));
    expect(a).toHaveLength(5);
    expect(a!.slice(0, 3)).toEqual(b!.slice(0, 3));
    expect(a!.slice(3).some((block) => b!.includes(block))).toBe(false);
  });

  it("depend on all that comes before them, and on the scope", () => {
    expect(new Set(prefixBlocks("", text(50))).size).toBe(50);
    expect(prefixBlocks("a", text(1))).not.toEqual(prefixBlocks("b", text(1)));
  });

  it("are none of a short prompt, and bounded of a long one", () => {
    expect(prefixBlocks("", "x".repeat(BLOCK_CHARS - 1))).toEqual([]);
    expect(prefixBlocks("", text(MAX_BLOCKS + 9))).toHaveLength(MAX_BLOCKS);
  });

  it("are remembered in bounded number, beginnings for longer than ends", () => {
    const remembered = new RememberedBlocks();
    const kept = prefixBlocks("kept", text(64));
    remembered.add(kept);
    for (let i = 0; i < 511; i++) remembered.add(prefixBlocks(`other ${i}`, text(64)));
    expect(remembered.size).toBeLessThanOrEqual(32_768);
    expect(remembered.matched(kept)).toBeGreaterThan(0);
    remembered.add(prefixBlocks("one more", text(32)));
    expect(remembered.size).toBe(32_768);
    expect(remembered.matched(kept)).toBeGreaterThan(0);
    expect(remembered.matched(kept)).toBeLessThan(64);
  });

  it("are remembered for longer where they come again", () => {
    const remembered = new RememberedBlocks();
    const kept = prefixBlocks("kept", text(64));
    for (let i = 0; i < 2000; i++) {
      if (i % 500 === 0) remembered.add(kept);
      remembered.add(prefixBlocks(`other ${i}`, text(64)));
    }
    expect(remembered.matched(kept)).toBe(64);
  });
});

describe("Placement", () => {
  it("chooses none where there is none, and the only one where there is one", () => {
    expect(placement().choose([], [])).toBeNull();
    expect(placement().choose([replica("a", { kvUsed: 1 })], [])).toMatchObject({ rule: "only" });
  });

  it("chooses the replica that was sent more than half of the prompt", () => {
    const one = placement();
    const busy = [replica("a"), replica("b", { tokens: 900, requests: 9 })];
    one.choose([replica("a", { healthy: false }), replica("b")], prefixBlocks("", text(6, "z")));
    expect(one.choose(busy, prefixBlocks("", `${text(6, "z")}${text(5)}`))).toMatchObject({
      rule: "prefix",
      replica: { id: "b" },
    });
    expect(one.choose(busy, prefixBlocks("", `${text(6, "z")}${text(6, "y")}`))!.rule).toBe("two random");
  });

  it("chooses the least loaded one of several with the same match", () => {
    const one = placement();
    const blocks = prefixBlocks("", text(4));
    const all = (healthy: string) => ["a", "b", "c"].map((id) => replica(id, { healthy: id === healthy }));
    one.choose(all("a"), blocks);
    one.choose(all("b"), blocks);
    expect(chosen(one, [replica("a", { requests: 5 }), replica("b", { requests: 4 }), replica("c")], blocks)).toBe("b");
  });

  it.each([
    [32, 0, "prefix"],
    [33, 0, "balance"],
    [400, 365, "prefix"],
    [400, 360, "balance"],
  ])("of %d and %d requests in flight goes by %s", (most, least, rule) => {
    const one = placement();
    const blocks = prefixBlocks("", text(4));
    one.choose([replica("a"), replica("b", { healthy: false })], blocks);
    const choice = one.choose([replica("a", { requests: most }), replica("b", { requests: least })], blocks)!;
    expect(choice).toMatchObject({ rule, replica: { id: rule === "prefix" ? "a" : "b" } });
  });

  it("takes the one of two random replicas with fewer tokens in flight", () => {
    expect(chosen(placement(), [replica("a", { tokens: 9 }), replica("b", { tokens: 8, requests: 20 })])).toBe("b");
    expect(chosen(placement(), [replica("a", { tokens: 8 }), replica("b", { tokens: 9 })])).toBe("a");
  });

  it("counts tokens in flight by weight", () => {
    const all = (tokens: number) => [replica("a", { weight: 3, tokens }), replica("b", { tokens: 1000 })];
    expect(chosen(placement(), all(2999))).toBe("a");
    expect(chosen(placement(), all(3001))).toBe("b");
  });

  it.each([
    // The mean weight is 2, so that 48 and 0 requests count as 32 and 0.
    [48, 0, "prefix"],
    [49, 0, "balance"],
    [300, 100, "prefix"],
  ])("of %d requests at a weight of 3, and %d at 1, goes by %s", (most, least, rule) => {
    for (const scale of [0.01, 1, 10]) {
      const one = placement();
      const blocks = prefixBlocks("", text(4));
      one.choose([replica("a"), replica("b", { healthy: false })], blocks);
      const heavy = replica("a", { weight: 3 * scale, requests: most });
      const choice = one.choose([heavy, replica("b", { weight: scale, requests: least })], blocks)!;
      expect(choice).toMatchObject({ rule, replica: { id: rule === "prefix" ? "a" : "b" } });
    }
  });

  it("gives idle replicas their shares", () => {
    const one = new Placement(seeded(3));
    const all = [1, 2, 5].map((weight) => replica(String(weight), { weight }));
    const counts = new Map<string, number>();
    for (let i = 0; i < 8000; i++) {
      const id = chosen(one, all)!;
      counts.set(id, (counts.get(id) ?? 0) + 1);
    }
    for (const { id, weight } of all) expect(Math.abs(counts.get(id)! / (1000 * weight) - 1)).toBeLessThan(0.1);
  });

  it("leaves out a full KV cache while there is another", () => {
    const full = replica("a", { kvUsed: 0.91 });
    expect(chosen(placement(), [full, replica("b", { kvUsed: 0.9, tokens: 99 })])).toBe("b");
    expect(chosen(placement(), [full, replica("b", { kvUsed: 0.95 })])).toBe("a");
  });

  it("tries another replica before the same one again", () => {
    const tried = replica("a", { tried: true });
    expect(chosen(placement(), [tried, replica("b", { kvUsed: 1, requests: 99 })])).toBe("b");
    expect(chosen(placement(), [tried, replica("b", { healthy: false })])).toBe("a");
  });

  it("forgets the prefixes of a replica that left or started anew", () => {
    const one = placement();
    const blocks = prefixBlocks("", text(4));
    const both = [replica("a"), replica("b")];
    one.choose(both, blocks);
    one.forget("a");
    expect(one.choose(both, blocks)!.rule).toBe("two random");
    expect(one.remembered).toBe(4);
    one.choose([replica("b")], []);
    expect(one.remembered).toBe(0);
  });

  const load = fc.record({
    healthy: fc.boolean(),
    tried: fc.boolean(),
    requests: fc.nat(200),
    tokens: fc.nat(100_000),
    kvUsed: fc.option(fc.double({ min: 0, max: 1, noNaN: true })),
  });
  const loads = fc.array(load, { minLength: 1, maxLength: 6 });

  it("chooses no unhealthy replica while there is a healthy one, and none that was tried while there is another", () => {
    const prompt = fc.array(fc.constantFrom("a", "b"), { maxLength: 5 });
    fc.assert(
      fc.property(fc.array(fc.tuple(loads, prompt), { maxLength: 40 }), fc.integer(), (requests, seed) => {
        const one = new Placement(seeded(seed));
        for (const [all, letters] of requests) {
          const replicas = all.map((fields, index) => replica(String(index), fields));
          const choice = one.choose(replicas, prefixBlocks("", letters.map((letter) => text(1, letter)).join("")))!;
          const healthy = replicas.filter((each) => each.healthy);
          if (healthy.length > 0) expect(choice.replica.healthy).toBe(true);
          if (healthy.some((each) => !each.tried)) expect(choice.replica.tried).toBe(false);
        }
      }),
    );
  });

  test("its memory is bounded, however many prompts it sees", () => {
    const one = new Placement(seeded(1));
    const all = ["a", "b", "c"].map((id) => replica(id));
    for (let i = 0; i < 2000; i++) one.choose(all, prefixBlocks(`${i}`, text(MAX_BLOCKS)));
    expect(one.remembered).toBe(3 * 32_768);
  });

  test.each([
    ["equal", [1, 1, 1, 1]],
    ["unequal", [1, 1, 2, 4]],
  ])("conversations stay at their replica, and loads follow weights: %s ones", (_, weights) => {
    const random = seeded(7);
    const one = new Placement(random);
    const mean = weights.reduce((sum, weight) => sum + weight, 0) / weights.length;
    const inFlight = new Map(weights.map((weight, nth) => [String(nth), { weight, ends: [] as number[] }]));
    const homes = new Map<number, string>();
    const sent = new Map<string, number>();
    let [followed, turns, widest] = [0, 0, 0];
    for (let now = 0; now < 20_000; now++) {
      const all = [...inFlight].map(([id, { weight, ends }]) => {
        const left = ends.filter((end) => end > now);
        inFlight.set(id, { weight, ends: left });
        return replica(id, { weight, requests: left.length, tokens: left.length * 1000 });
      });
      const loads = all.map(({ requests, weight }) => (requests * mean) / weight);
      widest = Math.max(widest, Math.max(...loads) - Math.min(...loads));
      // A hundred conversations at a time, each of some 200 turns over a context of its own.
      const conversation = Math.floor(random() * 100) + 100 * Math.floor(now / 5000);
      const id = one.choose(all, prefixBlocks(String(conversation), text(12)))!.replica.id;
      if (homes.has(conversation)) {
        turns++;
        if (homes.get(conversation) === id) followed++;
      }
      homes.set(conversation, id);
      sent.set(id, (sent.get(id) ?? 0) + 1);
      inFlight.get(id)!.ends.push(now + 20 + Math.floor(random() * 100));
    }
    expect(turns).toBeGreaterThan(15_000);
    expect(followed / turns).toBeGreaterThan(0.9);
    expect(widest).toBeLessThanOrEqual(36);
    const shares = weights.map((weight, nth) => sent.get(String(nth))! / 20_000 / (weight / mean / weights.length));
    for (const share of shares) expect(Math.abs(share - 1)).toBeLessThan(0.2);
  });
});
