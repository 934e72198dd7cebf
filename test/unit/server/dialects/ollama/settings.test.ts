import { expect, it } from "vitest";
import { checkCapabilities } from "../../../../../server/dialects/ollama/settings.ts";

const FACTS = { generates: true, reasoningTags: null, takesTools: false, toolFormat: "hermes" };
const TAGS = { open: "<think>", close: "</think>" };
const TOOLS = [{ type: "function" }];

it.each<[object, Partial<typeof FACTS> | object, "chat" | "generate", string | null]>([
  [{}, { generates: false }, "chat", '"m:latest" does not support chat'],
  [{ think: true }, { generates: false }, "generate", '"m:latest" does not support generate'],
  [{ think: "low" }, {}, "chat", '"m:latest" does not support thinking'],
  [{ think: false }, {}, "chat", null],
  [{ think: true }, { reasoningTags: TAGS }, "chat", null],
  [{ think: true }, { toolFormat: "harmony" }, "chat", null],
  [{ tools: TOOLS }, {}, "chat", '"m:latest" does not support tools'],
  [{ tools: [] }, {}, "chat", null],
  [{ tools: TOOLS }, { takesTools: true }, "chat", null],
])("a body with %j for a model with %j at %s: %j", (fields, facts, task, refusal) => {
  const check = () => checkCapabilities({ model: "m:latest", ...fields }, { ...FACTS, ...facts }, task);
  if (refusal === null) expect(check).not.toThrow();
  else expect(check).toThrow(refusal);
});
