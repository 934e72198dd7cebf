import { expect, test } from "vitest";
import { unservedNames } from "../../../../server/options/unserved-names.ts";

const PRICE = { input: 1, cachedInput: 1, output: 1 };

test("names prices, tool formats and chat templates of models that are not served, with the nearest served name", () => {
  const options = { prices: { demo: PRICE, dmeo: PRICE }, toolFormat: { nosuchmodel: "hermes" } };
  const chatTemplate = [
    { model: null, file: "a.jinja" },
    { model: "demp", file: "b.jinja" },
  ];
  expect(unservedNames({ ...options, chatTemplate }, ["demo"])).toEqual([
    "--prices names the model 'dmeo', which is not served. Did you mean 'demo'?",
    "--tool-format names the model 'nosuchmodel', which is not served.",
    "--chat-template names the model 'demp', which is not served. Did you mean 'demo'?",
  ]);
});
