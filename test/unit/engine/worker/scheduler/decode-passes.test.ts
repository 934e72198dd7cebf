import { expect, test } from "vitest";
import type { Tier } from "../../../../../engine/protocol/request.ts";
import { DecodePasses } from "../../../../../engine/worker/scheduler/decode-passes.ts";

import { left } from "./plan-rig.ts";

/** The passes of a step after each of its sequences: [tier, id, tokens of it that the step computes]. */
function passes(entries: [Tier, number, number][]): number[] {
  const all = new DecodePasses("consecutive");
  return entries.map(([tier, id, count]) => {
    const tokens = Array<number>(count).fill(1);
    const sequence = {
      tier,
      id,
      tokens,
      computed: 0,
      scope: "",
      owner: "local",
      arrival: 0,
      state: "running" as const,
    };
    const then = all.with(sequence, count);
    all.add(sequence, count);
    return then;
  });
}

test.each<[string, [Tier, number, number][], number[]]>([
  [
    "streams and lower decodes beside them take one pass",
    [
      ["default", 0, 1],
      ["default", 5, 1],
      ["batch", 9, 1],
    ],
    [1, 1, 1],
  ],
  [
    "decodes of lower tiers alone take a pass for every run of ids",
    [
      ["batch", 3, 1],
      ["batch", 4, 1],
      ["batch", 6, 1],
    ],
    [1, 1, 2],
  ],
  [
    "an id that closes a hole joins two",
    [
      ["flex", 3, 1],
      ["batch", 5, 1],
      ["batch", 4, 1],
    ],
    [1, 2, 1],
  ],
  [
    "prompts take a pass for every length",
    [
      ["batch", 3, 40],
      ["batch", 4, 20],
      ["batch", 5, 40],
    ],
    [1, 2, 2],
  ],
])("%s", (_, entries, expected) => {
  expect(passes(entries)).toEqual(expected);
});

test("where ids need not be consecutive, decodes take one pass", () => {
  const all = new DecodePasses("equal");
  for (const id of [3, 6, 9]) all.add({ ...left(1, id, "batch") }, 1);
  expect(all.with(left(1, 20, "batch"), 1)).toBe(1);
});
