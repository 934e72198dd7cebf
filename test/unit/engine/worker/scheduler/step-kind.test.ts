import { describe, expect, test } from "vitest";
import type { Tier } from "../../../../../engine/protocol/request.ts";
import type { Sequence } from "../../../../../engine/worker/scheduler/scheduled-sequence.ts";
import { type StepKind, StepKindPolicy } from "../../../../../engine/worker/scheduler/step-kind.ts";
import type { LowerTier } from "../../../../../engine/worker/scheduler/tiers.ts";

/** "default" decodes, "default…" has a prompt to compute. */
type Who = Tier | `${Tier}…`;

function running(who: Who[]): Sequence[] {
  return who.map((each, id) => {
    const tokens = each.endsWith("…") ? [1, 2, 3] : [1];
    const tier = each.replace("…", "") as Tier;
    return { id, tier, owner: "local", scope: "", arrival: id, tokens, computed: 0, state: "running" };
  });
}

/** The kinds of so many steps, while all that runs goes on as it is. */
function kinds(who: Who[], steps: number, overdue: LowerTier | null, fuller: StepKind, itlMs = 50, short = 10): string {
  const all = running(who);
  const policy = new StepKindPolicy({ itlMs });
  let told = "";
  for (let i = 0; i < steps; i++) {
    const kind = policy.choose(all, overdue, (kind) => (kind === fuller ? 25 : short));
    told += kind === null ? "-" : kind[0];
    policy.count(all.filter((sequence) => kind === null || (sequence.tokens.length === 1) === (kind === "decodes")));
  }
  return told;
}

describe("decodes (d) and prompts (p) of a split cache", () => {
  test.each<[string, Who[], LowerTier | null, StepKind, string]>([
    ["nobody", [], null, "prompts", "-----"],
    ["streams alone", ["default", "batch"], null, "prompts", "-----"],
    ["prompts alone", ["default…", "flex…"], null, "prompts", "-----"],
    ["streams and online prompts take turns", ["default", "priority…"], null, "decodes", "pdpdp"],
    ["whoever else is there", ["default", "default…", "flex", "flex…", "batch…"], "flex", "decodes", "pdpdp"],
    ["but for flex that waited for long", ["default", "flex…", "batch…"], "flex", "prompts", "ppppp"],
    ["which decodes where it can", ["default", "flex", "flex…"], "flex", "prompts", "pdpdp"],
    ["beside online prompts the decodes of lower tiers wait", ["default…", "flex", "batch"], null, "decodes", "ppppp"],
    ["but for flex that waited for long", ["default…", "flex", "batch"], "flex", "decodes", "ddddd"],
    ["flex takes turns with itself", ["flex", "flex…", "batch"], null, "decodes", "pdpdp"],
    ["a flex prompt goes before batch decodes", ["flex…", "batch"], null, "decodes", "ppppp"],
    ["flex decodes let one step of batch prompts by, if that is full", ["flex", "batch…"], null, "prompts", "pdpdp"],
    ["and none that is not", ["flex", "batch…"], null, "decodes", "ddddd"],
    ["batch that waited for long behind flex", ["flex", "batch…"], "batch", "decodes", "ppppp"],
    ["batch reads prompts while they fill a step", ["batch", "batch…"], null, "prompts", "ppppp"],
    ["and decodes while these fill it better", ["batch", "batch…"], null, "decodes", "ddddd"],
  ])("%s", (_, who, overdue, fuller, expected) => {
    expect(kinds(who, 5, overdue, fuller)).toBe(expected);
  });

  test("online prompts that outnumber the streams go on for four steps, where one makes these miss their objective", () => {
    const burst: Who[] = ["default", "default…", "priority…"];
    expect(kinds(burst, 10, null, "prompts", 35)).toBe("pdpdpdpdpd");
    expect(kinds(burst, 10, null, "prompts", 34)).toBe("ppppdppppd");
    expect(kinds(["default", ...burst], 10, null, "prompts", 34)).toBe("pdpdpdpdpd");
  });

  test("beside streams the prompts of lower tiers have no step until a plan has them in it, and then one between two", () => {
    const lower: Who[] = ["default", "flex…", "batch…"];
    expect(kinds(lower, 5, null, "decodes", 50, 0)).toBe("ddddd");
    expect(kinds(lower, 5, null, "decodes")).toBe("pdpdp");
    // However long batch was left out.
    expect(kinds(["default", "batch…"], 5, "batch", "decodes", 50, 0)).toBe("ddddd");
  });

  test("prompts of batch never keep its decodes waiting for more than eight steps", () => {
    expect(kinds(["batch", "batch…"], 20, null, "prompts")).toBe("ppppppppdppppppppdpp");
    expect(kinds(["batch", "flex…"], 20, null, "prompts")).toBe("ppppppppdppppppppdpp");
  });
});
