import { expect, test } from "vitest";
import { configuredNames } from "../../../../server/models/configured-names.ts";

const SERVED = ["demo", "other"];

test("an alias must name a served model", () => {
  const alias = { "gpt-4o": "demo", "org/small:v1": "other", "claude-*": "demo" };
  expect(configuredNames({ alias, unknownModel: "refuse" }, SERVED)).toEqual({ aliases: alias, otherwise: null });
});

test("an unknown name may mean the first model", () => {
  expect(configuredNames({ alias: {}, unknownModel: "first" }, SERVED)).toEqual({ aliases: {}, otherwise: "demo" });
});

test.each([
  [{ a: "none" }, "no model 'none' is served, only demo, other"],
  [{ other: "demo" }, "a model has the name 'other' itself"],
  [{ "*": "demo" }, "cannot be the name of a model"],
  [{ "a*b": "demo" }, "cannot be the name of a model"],
  [{ "../x": "demo" }, "cannot be the name of a model"],
])("%j is refused", (alias, message) => {
  expect(() => configuredNames({ alias, unknownModel: "refuse" }, SERVED)).toThrow(message);
});

test("an alias may name a model that is found later", () => {
  const alias = { "gpt-4o": "later" };
  expect(configuredNames({ alias, unknownModel: "refuse" }, SERVED, true).aliases).toEqual(alias);
});
