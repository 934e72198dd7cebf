import { describe, expect, test } from "vitest";
import type { Tier } from "../../../../../engine/protocol/request.ts";
import type { Sequence } from "../../../../../engine/worker/scheduler/scheduled-sequence.ts";
import { type StepKind, StepKindPolicy } from "../../../../../engine/worker/scheduler/step-kind.ts";
import type { LowerTier } from "../../../../../engine/worker/scheduler/tiers.ts";

/** "default" decodes, "default…" has a prompt to compute. */
type Work = Tier | `${Tier}…`;

function running(work: Work[]): Sequence[] {
  return work.map((each, id) => {
    const tokens = each.endsWith("…") ? [1, 2, 3] : [1];
    const tier = each.replace("…", "") as Tier;
    return { id, tier, owner: "local", scope: "", arrival: id, tokens, computed: 0, state: "running" };
  });
}

/** The kinds of consecutive steps while the sequences do not change. */
function kinds(work: Work[], steps: number, overdue: LowerTier | null, fuller: StepKind, short = 10): string {
  const all = running(work);
  const policy = new StepKindPolicy();
  let chosen = "";
  for (let i = 0; i < steps; i++) {
    const kind = policy.choose(all, overdue, (kind) => (kind === fuller ? 25 : short));
    chosen += kind === null ? "-" : kind[0];
    policy.count(all.filter((sequence) => kind === null || (sequence.tokens.length === 1) === (kind === "decodes")));
  }
  return chosen;
}

describe("decodes (d) and prompts (p) of a split cache", () => {
  test.each<[string, Work[], LowerTier | null, StepKind, string]>([
    ["no sequence", [], null, "prompts", "-----"],
    ["streams alone", ["default", "batch"], null, "prompts", "-----"],
    ["prompts alone", ["default…", "flex…"], null, "prompts", "-----"],
    ["streams and online prompts alternate", ["default", "priority…"], null, "decodes", "pdpdp"],
    [
      "streams and online prompts alternate beside other work",
      ["default", "default…", "flex", "flex…", "batch…"],
      "flex",
      "decodes",
      "pdpdp",
    ],
    ["overdue flex has its prompt", ["default", "flex…", "batch…"], "flex", "prompts", "ppppp"],
    ["overdue flex alternates", ["default", "flex", "flex…"], "flex", "prompts", "pdpdp"],
    [
      "beside online prompts decodes of lower tiers are skipped",
      ["default…", "flex", "batch"],
      null,
      "decodes",
      "ppppp",
    ],
    ["overdue flex decodes beside online prompts", ["default…", "flex", "batch"], "flex", "decodes", "ddddd"],
    ["flex alternates", ["flex", "flex…", "batch"], null, "decodes", "pdpdp"],
    ["a flex prompt precedes batch decodes", ["flex…", "batch"], null, "decodes", "ppppp"],
    ["flex decodes alternate with full steps of batch prompts", ["flex", "batch…"], null, "prompts", "pdpdp"],
    ["flex decodes precede batch prompts that fill no step", ["flex", "batch…"], null, "decodes", "ddddd"],
    ["overdue batch has its prompt before flex decodes", ["flex", "batch…"], "batch", "decodes", "ppppp"],
    ["batch computes prompts while they fill a step", ["batch", "batch…"], null, "prompts", "ppppp"],
    ["batch decodes while that fills a step better", ["batch", "batch…"], null, "decodes", "ddddd"],
  ])("%s", (_, work, overdue, fuller, expected) => {
    expect(kinds(work, 5, overdue, fuller)).toBe(expected);
  });

  test("prompts that outnumber the streams alternate with them too", () => {
    expect(kinds(["default", "default…", "priority…"], 10, null, "prompts")).toBe("pdpdpdpdpd");
  });

  test("prompts of lower tiers alternate with streams once their plan is not empty", () => {
    const lower: Work[] = ["default", "flex…", "batch…"];
    expect(kinds(lower, 5, null, "decodes", 0)).toBe("ddddd");
    expect(kinds(lower, 5, null, "decodes")).toBe("pdpdp");
    // Overdue batch changes nothing.
    expect(kinds(["default", "batch…"], 5, "batch", "decodes", 0)).toBe("ddddd");
  });

  test("batch prompts skip batch decodes for at most eight steps", () => {
    expect(kinds(["batch", "batch…"], 20, null, "prompts")).toBe("ppppppppdppppppppdpp");
    expect(kinds(["batch", "flex…"], 20, null, "prompts")).toBe("ppppppppdppppppppdpp");
  });
});
