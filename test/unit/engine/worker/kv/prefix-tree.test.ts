import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type CachedSequence, commonPrefix } from "../../../../../engine/worker/kv/cached-sequence.ts";
import { PrefixTree } from "../../../../../engine/worker/kv/prefix-tree.ts";

/** Computed tokens of b with which a prompt begins: the scan over all residents that the tree replaces. */
function agreement(tokens: readonly number[], limit: number, b: CachedSequence): number {
  return commonPrefix(tokens, b.tokens, Math.min(limit, b.computed));
}

function longest(tokens: readonly number[], limit: number, residents: readonly CachedSequence[]): number {
  return Math.max(0, ...residents.map((resident) => agreement(tokens, limit, resident)));
}

/** Few tokens, so that many begin alike. */
const text = fc.array(fc.nat({ max: 1 }), { maxLength: 14 });
const scope = fc.constantFrom("a", "b");
const action = fc.oneof(
  fc.record({ kind: fc.constant("add" as const), tokens: text, computed: fc.nat({ max: 14 }), scope }),
  fc.record({ kind: fc.constant("grow" as const), which: fc.nat(), by: fc.nat({ max: 5 }) }),
  fc.record({ kind: fc.constant("remove" as const), which: fc.nat() }),
  fc.record({ kind: fc.constant("match" as const), tokens: text, limit: fc.nat({ max: 16 }), scope }),
);

test("the tree finds what a scan over all residents finds", () => {
  fc.assert(
    fc.property(fc.array(action, { maxLength: 60 }), (actions) => {
      const tree = new PrefixTree();
      const residents: CachedSequence[] = [];
      const of = (which: number) => residents[which % residents.length];
      for (const action of actions) {
        if (action.kind === "add") {
          const { tokens, scope } = action;
          const resident = { id: 0, tokens, computed: Math.min(action.computed, tokens.length), scope };
          residents.push(resident);
          tree.add(resident);
        } else if (action.kind === "grow") {
          const resident = of(action.which);
          if (resident === undefined) continue;
          resident.computed = Math.min(resident.tokens.length, resident.computed + action.by);
          tree.follow(resident);
        } else if (action.kind === "remove") {
          const resident = of(action.which);
          if (resident === undefined) continue;
          residents.splice(residents.indexOf(resident), 1);
          tree.remove(resident);
        } else {
          const within = residents.filter((resident) => resident.scope === action.scope);
          const found = tree.match(action, action.limit);
          expect(found.length).toBe(longest(action.tokens, action.limit, within));
          if (found.resident === null) expect(found.length).toBe(0);
          else expect(within).toContain(found.resident);
          if (found.resident !== null)
            expect(agreement(action.tokens, action.limit, found.resident)).toBe(found.length);
        }
        for (const resident of residents) {
          const others = residents.filter((other) => other !== resident && other.scope === resident.scope);
          expect(tree.shared(resident)).toBe(longest(resident.tokens, resident.computed, others));
        }
      }
    }),
    { numRuns: 500 },
  );
});

describe("a tree", () => {
  const resident = (tokens: number[], computed = tokens.length, scope = ""): CachedSequence => {
    return { id: 0, tokens, computed, scope };
  };

  test("prefers a resident that ends at the common prefix to a longer one", () => {
    const tree = new PrefixTree();
    const longer = resident([1, 2, 3, 4]);
    const exact = resident([1, 2]);
    tree.add(longer);
    tree.add(exact);
    expect(tree.match(resident([1, 2, 5]), 3)).toEqual({ resident: exact, length: 2 });
    tree.remove(exact);
    expect(tree.match(resident([1, 2, 5]), 3)).toEqual({ resident: longer, length: 2 });
  });

  test("finds nothing of another scope", () => {
    const tree = new PrefixTree();
    tree.add(resident([1, 2, 3], 3, "theirs"));
    expect(tree.match(resident([1, 2, 3], 3, "ours"), 3)).toEqual({ resident: null, length: 0 });
  });

  test("does not find tokens that are not computed yet", () => {
    const tree = new PrefixTree();
    const prompt = resident([1, 2, 3], 0);
    tree.add(prompt);
    expect(tree.match(resident([1, 2, 3]), 3).length).toBe(0);
    prompt.computed = 2;
    tree.follow(prompt);
    expect(tree.match(resident([1, 2, 3]), 3)).toEqual({ resident: prompt, length: 2 });
  });
});
