import { expect, test } from "vitest";
import { TIERS, type Tier } from "../../../../../engine/protocol/request.ts";
import { BacklogCount } from "../../../../../engine/worker/scheduler/backlog.ts";
import type { Sequence } from "../../../../../engine/worker/scheduler/scheduled-sequence.ts";

function sequence(tokens: number[], more: Partial<Sequence> = {}): Sequence {
  return {
    id: -1,
    tier: "default",
    owner: "local",
    scope: "",
    arrival: 0,
    tokens,
    computed: 0,
    state: "waiting",
    ...more,
  };
}

const SHARED = new Array(2000).fill(7);

test("a burst of prompts with a common prefix counts the prefix once", () => {
  const count = new BacklogCount<Sequence>();
  const burst = Array.from({ length: 64 }, (_, i) => sequence([...SHARED, ...new Array(100).fill(100 + i)]));
  for (const one of burst) count.expect(one, 0);
  const { tiers } = count.read(burst, [], () => 0);
  expect(tiers.default).toEqual({ waiting: 64, running: 0, prefill: 2100 + 63 * 100, written: 0, left: 0 });
});

test("cached tokens and ended prompts do not count", () => {
  const count = new BacklogCount<Sequence>();
  const left = sequence([...SHARED, 1]);
  count.expect(left, 0);
  left.state = "ended";
  const first = sequence([...SHARED, 2]);
  const second = sequence([...SHARED, 3, 4]);
  count.expect(first, 0);
  expect(count.read([first], [], () => 0).tiers.default.prefill).toBe(2001);
  count.expect(second, 1990);
  expect(count.read([second], [], () => 0).tiers.default.prefill).toBe(2);
});

test("running sequences count the rest of their prompts by tier", () => {
  const count = new BacklogCount<Sequence>();
  const running = TIERS.flatMap((tier: Tier, i) => [
    sequence(new Array(100).fill(1), { tier, state: "running", computed: 10 * i }),
    sequence(new Array(50).fill(1), { tier, state: "running", computed: 49, answer: { written: 20, left: 80 } }),
  ]);
  const { tiers, kvPerDecode } = count.read([], running, ({ computed }) => computed + 1);
  for (const [i, tier] of TIERS.entries()) {
    expect(tiers[tier]).toEqual({ waiting: 0, running: 2, prefill: 100 - 10 * i, written: 20, left: 80 });
  }
  expect(kvPerDecode).toBe((1 + 11 + 21 + 31 + 4 * 50) / 8);
});
