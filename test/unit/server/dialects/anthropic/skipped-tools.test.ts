import { expect, test } from "vitest";
import { DEFAULT_REQUEST_LIMITS } from "../../../../../openapi/request-limits.ts";
import { countTokensReader } from "../../../../../server/dialects/anthropic/count-tokens.ts";
import { messagesDialect } from "../../../../../server/dialects/anthropic/messages.ts";

const TOOLS = [
  { type: "bash_20250124", name: "bash" },
  { type: "custom", name: "look_up", input_schema: { type: "object" } },
  { name: "find", input_schema: { type: "object" } },
  { type: "bash_20250124", name: "shell" },
];

test("tools that are left out of the prompt are named once, behind ignored fields", () => {
  const body = { model: "demo", messages: [{ role: "user", content: "Hello!" }], tools: TOOLS, colour: "red" };
  const ignored = ["colour", "tools.bash_20250124"];
  const limits = DEFAULT_REQUEST_LIMITS;
  expect(messagesDialect(limits).read({ ...body, max_tokens: 8 }, "ann").ignored).toEqual(ignored);
  expect(countTokensReader(limits)(body).ignored).toEqual(ignored);
});
