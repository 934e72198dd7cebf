import { expect, test } from "vitest";
import { modelNamed } from "../../../engine/model-names.ts";

const SERVED = ["demo", "other"];
const ALIASES = {
  "gpt-4o": "other",
  moved: "gone",
  "claude-*": "demo",
  "claude-opus-*": "other",
  "claude-opus-1": "demo",
};

test.each([
  ["a model's own name", "demo", null, "demo"],
  ["a model's own name beside a model for any other", "demo", "other", "demo"],
  ["an alias", "gpt-4o", "demo", "other"],
  ["an alias of a model that is not served", "moved", "demo", null],
  ["an unknown name", "gpt-9", null, null],
  ["an unknown name where a model stands for it", "gpt-9", "demo", "demo"],
  ["an unknown name where the model for it is not served", "gpt-9", "gone", null],
  ["a name that an alias with * covers", "claude-sonnet-9", null, "demo"],
  ["a name that two aliases with * cover", "claude-opus-9", null, "other"],
  ["an alias that one with * covers", "claude-opus-1", null, "demo"],
  ["a name that every object has", "constructor", null, null],
])("%s", (_, name, otherwise, model) => {
  expect(modelNamed({ aliases: ALIASES, otherwise }, SERVED, name)).toBe(model);
});
