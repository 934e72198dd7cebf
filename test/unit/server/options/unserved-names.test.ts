import { expect, test } from "vitest";
import { unservedNames } from "../../../../server/options/unserved-names.ts";

const PRICE = { input: 1, cachedInput: 1, output: 1 };

test("names options and routes of models that are not served, with the nearest served name", () => {
  const options = { prices: { demo: PRICE, dmeo: PRICE }, toolFormat: { nosuchmodel: "hermes" } };
  const chatTemplate = [
    { model: null, file: "a.jinja" },
    { model: "demp", file: "b.jinja" },
  ];
  const routes = { chat: { models: ["demo", "deno"], rules: [], choose: "first" as const, overflow: [] } };
  expect(unservedNames({ ...options, chatTemplate, routes }, ["demo"])).toEqual([
    "--prices names the model 'dmeo', which is not served. Did you mean 'demo'?",
    "--tool-format names the model 'nosuchmodel', which is not served.",
    "--chat-template names the model 'demp', which is not served. Did you mean 'demo'?",
    "The route 'chat' names the model 'deno', which is not served. Did you mean 'demo'?",
  ]);
});
