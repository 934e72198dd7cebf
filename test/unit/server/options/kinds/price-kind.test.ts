import { expect, test } from "vitest";
import { resolveOptions } from "../../../../../server/options/read.ts";

function resolved(flags: Record<string, unknown>, env: Record<string, string> = {}, values: [string, unknown][] = []) {
  return resolveOptions({ flags, env, file: { path: "nightshift.yaml", values: new Map(values) } });
}

const demo = { input: 0.1, cachedInput: 0.02, output: 0.4 };

test("reads prices from flags, environment and file", () => {
  expect(resolved({ prices: ["demo=0.10/0.02/0.40", "a=b=1/0/2"] }).prices).toEqual({
    demo,
    "a=b": { input: 1, cachedInput: 0, output: 2 },
  });
  expect(resolved({}, { NIGHTSHIFT_PRICES: "demo=0.1/0.02/0.4,x=1/1/1" }).prices).toMatchObject({ demo });
  expect(resolved({}, {}, [["prices", { demo }]]).prices).toEqual({ demo });
  expect(resolved({}).prices).toEqual({});
});

test("reads tier factors from flags and file, and refuses unknown tiers", () => {
  expect(resolved({ tierFactors: ["batch=0.25"] }).tierFactors).toEqual({ batch: 0.25 });
  expect(resolved({}, {}, [["tierFactors", { flex: 0.6, priority: 2 }]]).tierFactors).toEqual({
    flex: 0.6,
    priority: 2,
  });
  expect(() => resolved({ tierFactors: ["cheap=0.25"] })).toThrow(/--tier-factors must be tier=factor/);
});

test.each(["demo", "demo=1/2", "demo=a/b/c", "demo=1/2/3/4", "demo=1.2.3/1/1", "demo=-1/1/1"])(
  "%o is no price",
  (price) => {
    expect(() => resolved({ prices: [price] })).toThrow(/--prices must be model=input\/cached input\/output/);
  },
);

test.each([{ demo: 1 }, { demo: { input: 1 } }, { demo: { ...demo, images: 1 } }, { demo: { ...demo, input: -1 } }, 7])(
  "%o in the file is no price",
  (prices) => {
    expect(() => resolved({}, {}, [["prices", prices]])).toThrow(/"prices" in nightshift.yaml must be/);
  },
);
