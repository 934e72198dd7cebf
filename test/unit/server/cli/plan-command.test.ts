import { describe, expect, test } from "vitest";
import type { EngineStatus } from "../../../../engine/protocol/status.ts";
import type { MachinePrice } from "../../../../ledger/prices.ts";
import type { EngineReport } from "../../../../openapi/resources/engine.ts";
import { OptionsError } from "../../../../platform/options-error.ts";
import { planCommand, planText } from "../../../../server/cli/plan-command.ts";
import { bar } from "../../../../server/cli/text/bar.ts";
import { engineStatus } from "../../../../server/routes/engine-object.ts";
import { STATUS } from "../../engine/protocol/status.ts";

function report(
  change: Partial<EngineStatus> = {},
  machine: MachinePrice = { onDemand: 3.6, spot: 0.9 },
): EngineReport {
  const status = engineStatus({ ...STATUS, ...change }, machine);
  return { object: "nightshift.engine", model: "demo", state: "ready", status };
}

/** Steps that cost this much by batch size. */
function costing(ms: (batch: number) => number): EngineReport {
  const decodes = STATUS.outlook!.decodes.map(({ batch }) => ({ batch, ms: ms(batch) }));
  return report({ outlook: { ...STATUS.outlook!, decodes } });
}

describe("nightshift plan", () => {
  test("prints fit, caps, and rate and price by batch size with their bars", () => {
    const text = planText([report()]);
    expect(text).toContain(
      "Step cost: 8 ms, plus 0.05 ms per prompt token, 0.5 ms per decoded token, 0.1 ms per 1,000 positions that decodes attend over, 0.1 ms per 1,000 of prompts",
    );
    expect(text).toContain("1,200 decode-only steps; median prediction error 3.1 %.");
    expect(text).toContain("steps of flex and batch take at most 25 ms: 28 decodes or 300 prompt tokens");
    expect(text).toMatch(/^ +8 +12 +13\.2 +2$/m);
    expect(text).toContain("on a machine at USD 3.6 an hour, USD 0.9 as a spot machine:");
    expect(text).toMatch(/^ +16 +16 +1,000 +1 +0\.25 {2}█+[▏▎▍▌▋▊▉]? +█+[▏▎▍▌▋▊▉]?$/m);
    expect(text).toMatch(/^ +512\* .*█{20} /m);
    expect(text).toContain("* more than twice what was measured");
  });

  test("prints the batch size from which doubling saves less than 5 % of a token's price", () => {
    // 8 ms + 0.5 a decode: from 128 to 256 the token gets (72/128 − 136/256) ÷ (72/128) = 5.6 % cheaper, then 2.9 %.
    expect(planText([report()])).toContain("From a batch of 256 on, doubling it saves less than 5 %");
    expect(planText([costing((batch) => 8 * batch)])).toContain(
      "From a batch of 1 on, doubling it saves less than 5 %",
    );
    expect(planText([costing(() => 8)])).toContain("Up to a batch of 512, each doubling saves 5 % or more");
  });

  test("without a machine price, prints no prices and names the option", () => {
    const text = planText([report({}, { onDemand: null, spot: null })]);
    expect(text).toContain("no prices: the server runs without --machine-usd-per-hour");
    expect(text).toMatch(/^ +16 +16 +1,000 +- +- /m);
  });

  test("reports a missing fit, beside another model's plan or as an error", () => {
    const unfitted = report({ steps: { prefill: 2, decode: 3 }, fit: null, outlook: null });
    const loading: EngineReport = { object: "nightshift.engine", model: "big", state: "loading", status: null };
    expect(planText([report(), loading])).toContain("Model 'big': the engine reports no status; its state is");
    expect(() => planText([unfitted, loading])).toThrow(OptionsError);
    expect(() => planText([unfitted])).toThrow(/too few steps were measured for a plan: 3 decode steps so far/);
  });

  test("reports that no server answers", async () => {
    await expect(planCommand({ url: "http://127.0.0.1:9/v1" })).rejects.toThrow(/No server answers at .*--url/);
  });
});

test.each([
  [0, ""],
  [0.5, "██"],
  [0.53125, "██▏"],
  [1, "████"],
  [7, "████"],
])("a bar of %d of four characters is %o", (share, text) => {
  expect(bar(share, 4)).toBe(text);
});
