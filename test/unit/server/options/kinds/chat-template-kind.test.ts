import { expect, it } from "vitest";
import { chatTemplates } from "../../../../../server/options/kinds/chat-template-kind.ts";

const { schema } = chatTemplates();

it.each<[string, unknown, unknown]>([
  ["a file for the only model", "t.jinja", [{ model: null, file: "t.jinja" }]],
  ["a file of a model", "org/m:Q4=a=b.jinja", [{ model: "org/m:Q4", file: "a=b.jinja" }]],
  [
    "several",
    ["a=x", "b=y"],
    [
      { model: "a", file: "x" },
      { model: "b", file: "y" },
    ],
  ],
  ["a map of the file of options", { a: "x" }, [{ model: "a", file: "x" }]],
])("reads %s", (_, value, settings) => {
  expect(schema.parse(value)).toEqual(settings);
});

it.each([["=x"], ["a="], [""], [{ a: "" }], [7]])("refuses %j", (value) => {
  expect(schema.safeParse(value).success).toBe(false);
});
