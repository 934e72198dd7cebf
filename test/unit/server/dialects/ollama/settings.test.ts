import { expect, it } from "vitest";
import { checkCapabilities, ollamaForm, ollamaSettings } from "../../../../../server/dialects/ollama/settings.ts";

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

it("options have the defaults of Ollama, and null is the same as none", () => {
  const { sampling, maxTokens, stop } = ollamaSettings({ model: "m", options: { temperature: null } });
  expect({ sampling, maxTokens, stop }).toMatchObject({
    sampling: { temperature: 0.8, topK: 40, topP: 0.9, minP: 0, penaltyWindow: null, seed: null },
    maxTokens: null,
    stop: [],
  });
});

it.each([
  [{}, null],
  [{ repeat_penalty: 1.1 }, 64],
  [{ presence_penalty: 0.5 }, 64],
  [{ frequency_penalty: 0.5 }, 64],
  [{ presence_penalty: 0, frequency_penalty: 0 }, null],
  [{ repeat_penalty: 1.1, repeat_last_n: 32 }, 32],
])("penalties of %j are over the last %j tokens", (options, window) => {
  expect(ollamaSettings({ model: "m", options }).sampling.penaltyWindow).toBe(window);
});

it.each([-1, -2, 0])("num_predict %i is without bound, and seed -1 is random", (num_predict) => {
  const { maxTokens, sampling } = ollamaSettings({ model: "m", options: { num_predict, seed: -1 } });
  expect([maxTokens, sampling.seed]).toEqual([null, null]);
});

it.each([undefined, null, ""] as const)("the format %j is none", (format) => {
  expect(ollamaForm({ model: "m", format })).toBeNull();
});
