import { expect, it } from "vitest";
import { readExpression } from "./promql.ts";

it("reads selectors, matchers and groupings", () => {
  const text = `1 - sum by (model, tier) (rate(a_bucket{le="0.5", tier=~"x|y"}[5m])) / on (model) group_left avg(b) > bool 2e3`;
  expect(readExpression(text)).toEqual({
    selectors: [
      {
        name: "a_bucket",
        matchers: [
          { label: "le", operator: "=", value: "0.5" },
          { label: "tier", operator: "=~", value: "x|y" },
        ],
      },
      { name: "b", matchers: [] },
    ],
    groupings: ["model", "tier", "model"],
  });
  const names = (expression: string) => readExpression(expression).selectors.map(({ name }) => name);
  expect(names("a:b:c_rate5m offset 1h and a unless on (x) b{} or vector(1)")).toEqual(["a:b:c_rate5m", "a", "b"]);
  expect(names("max(a) by (x) + max_over_time(c[1h:30s])")).toEqual(["a", "c"]);
});

it.each(["sum(a", "a)", "a{le=0.5}", 'a{"x"}', "a ; b", 'a{x="1" y="2"}'])("refuses %s", (text) => {
  expect(() => readExpression(text)).toThrow();
});
