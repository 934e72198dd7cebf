import { expect, it } from "vitest";
import { readLoad } from "../../../../../server/dialects/ollama/load.ts";

it.each<[unknown, boolean]>([
  [0, true],
  ["0", true],
  ["0s", true],
  ["0m0s", true],
  ["-0.0s", true],
  [undefined, false],
  [-1, false],
  ["5m", false],
  ["0.5s", false],
  ["-1", false],
  // A pattern that can divide the digits in many ways would never end here.
  [`${"0".repeat(63)}x`, false],
])("keep_alive %j unloads a model without a prompt: %j", (keep_alive, unload) => {
  expect(readLoad({ model: "m", prompt: "", keep_alive }, ["prompt"])).toEqual({ model: "m", unload });
});

it("a body with a prompt or a suffix does not load alone", () => {
  expect(readLoad({ model: "m", messages: [{}], keep_alive: 0 }, ["messages"])).toBeNull();
  expect(readLoad({ model: "m", suffix: "x" }, ["prompt", "suffix"])).toBeNull();
});
