import { describe, expect, it } from "vitest";
import { validate } from "../../../openapi/generation/validate.ts";
import { chat, chatFault, fault, MESSAGES, promptFault } from "./body-faults.ts";

describe("bounds of a chat request", () => {
  const bounds: [string, number[], number[]][] = [
    ["temperature", [0, 2, -0], [-0.01, 2.01]],
    ["top_p", [0, 1], [-0.01, 1.01]],
    ["n", [1, 16], [0, 17, 1.5]],
    ["max_tokens", [1, 2 ** 31 - 1], [0, -1, 2 ** 31, 1.5]],
    ["max_completion_tokens", [1], [0, 2 ** 31]],
    ["frequency_penalty", [-2, 2], [-2.1, 2.1]],
    ["presence_penalty", [-2, 2], [-2.1, 2.1]],
    ["seed", [0, -1, 2 ** 53, -(2 ** 63)], [0.5, 2 ** 64]],
    ["top_k", [-1, 0, 40], [-2, 1.5]],
    ["min_p", [0, 1], [-0.1, 1.1]],
    ["repetition_penalty", [0.1, 2], [0, 2.1]],
    ["min_tokens", [0, 5], [-1]],
    ["typical_p", [0, 1], [-0.1, 1.1]],
    ["top_n_sigma", [-1, 0, 100], [101]],
    ["min_keep", [0, 5], [-1, 1.5]],
    ["xtc_probability", [0, 1], [-0.1, 1.1]],
    ["xtc_threshold", [0, 1], [-0.1, 1.1]],
    ["dynatemp_range", [0, 5], [-0.1, 5.1]],
    ["dynatemp_exponent", [0, 10], [-0.1, 10.1]],
    ["mirostat", [0, 1, 2], [-1, 3, 1.5]],
    ["mirostat_tau", [0, 100], [-0.1, 101]],
    ["mirostat_eta", [0, 1], [-0.1, 1.1]],
    ["repeat_penalty", [0.1, 2], [0, 2.1]],
    ["repeat_last_n", [-1, 0, 2 ** 31 - 1], [-2, 1.5, 2 ** 31]],
    ["dry_multiplier", [0, 100], [-0.1, 101]],
    ["dry_base", [1, 100], [0.9, 101]],
    ["dry_allowed_length", [0, 5], [-1, 1.5]],
    ["dry_penalty_last_n", [-1, 0, 2 ** 31 - 1], [-2, 1.5, 2 ** 31]],
  ];
  it.each(bounds)("%s", (field, good, bad) => {
    for (const value of [...good, null]) expect(chatFault({ [field]: value })).toBeNull();
    for (const value of [...bad, Number.POSITIVE_INFINITY, "1", true, [], {}]) {
      expect(chatFault({ [field]: value }), `${field}: ${value}`).toMatchObject({ status: 400, param: field });
    }
  });

  it.each([
    [{ metadata: Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`k${i}`, "v"])) }, "metadata"],
    [{ metadata: { ["k".repeat(65)]: "v" } }, `metadata.${"k".repeat(65)}`],
    [{ metadata: { k: "v".repeat(513) } }, "metadata.k"],
    [{ metadata: { k: 1 } }, "metadata.k"],
    [{ safety_identifier: "x".repeat(65) }, "safety_identifier"],
    [{ stop: [] }, null],
    [{ stop: [""] }, "stop[0]"],
    [{ logit_bias: { 1: 100, 2: -100 } }, null],
    [{ logit_bias: { 1: 101 } }, "logit_bias.1"],
    [{ logit_bias: { a: 1 } }, "logit_bias.a"],
    [{ stop_token_ids: [1, -1] }, "stop_token_ids[1]"],
    [{ repeat_penalty: 1.1, repetition_penalty: 1.2 }, "repeat_penalty"],
    [{ dry_sequence_breakers: Array(65).fill("a") }, "dry_sequence_breakers"],
    [{ dry_sequence_breakers: ["a", ""] }, "dry_sequence_breakers[1]"],
    [{ dry_sequence_breakers: ["é".repeat(20)] }, null],
    [{ dry_sequence_breakers: ["é".repeat(21)] }, "dry_sequence_breakers[0]"],
    [{ dry_sequence_breakers: "a" }, "dry_sequence_breakers"],
    [{ samplers: ["penalties", "dry", "top_n_sigma", "top_k", "typ_p", "top_p", "min_p", "xtc", "temperature"] }, null],
    [{ samplers: ["topk", "nucleus", "temp", "typical_p", "MIN-P"] }, null],
    [{ samplers: "edskypmxt" }, null],
    [{ samplers: "" }, null],
    [{ samplers: ["top_k", "infill"] }, "samplers[1]"],
    [{ samplers: ["top_k", "top-k"] }, "samplers"],
    [{ samplers: ["top_k", "penalties"] }, "samplers"],
    [{ samplers: "kz" }, "samplers"],
    [{ samplers: "kk" }, "samplers"],
    [{ samplers: "kd" }, "samplers"],
    [{ samplers: Array(10).fill("top_k") }, "samplers"],
    [{ samplers: ["x".repeat(17)] }, "samplers[0]"],
    [{ samplers: [1] }, "samplers[0]"],
    [{ samplers: {} }, "samplers"],
    [{ min_tokens: 5, max_tokens: 4 }, "min_tokens"],
    [{ min_tokens: 5, max_tokens: 4, max_completion_tokens: 6 }, null],
    [{ stream_options: { include_usage: true } }, "stream_options"],
    [{ stream: true, stream_options: { include_usage: true } }, null],
    [{ service_tier: "auto" }, null],
    [{ service_tier: "batch" }, "service_tier"],
    [{ reasoning_effort: "extreme" }, "reasoning_effort"],
    [{ response_format: { type: "json_schema" } }, "response_format.json_schema"],
    [{ response_format: { type: "json_object" }, grammar: 'root ::= "a"' }, "grammar"],
    [{ grammar: "root ::= x" }, "grammar"],
    [{ json_schema: { properties: { a: { uniqueItems: true } } } }, "json_schema.properties.a.uniqueItems"],
    [{ messages: [] }, "messages"],
    [{ messages: [{ role: "assistant" }] }, "messages[0].content"],
    [{ messages: [{ role: "robot", content: "x" }] }, "messages[0].role"],
    [{ messages: [{ role: "tool", content: "x" }] }, "messages[0].tool_call_id"],
    [{ messages: [{ role: "assistant", content: [{ type: "refusal", refusal: "no" }] }] }, null],
  ])("%j names %j", (fields, param) => {
    expect(chatFault(fields)?.param ?? null).toBe(param);
  });

  it("refuses unsupported fields by name, except values that ask for nothing", () => {
    const harmless = {
      tools: [],
      tool_choice: "none",
      response_format: { type: "text" },
      logprobs: false,
      store: false,
    };
    expect(chatFault(harmless)).toBeNull();
    const refused = {
      functions: [{ name: "f" }],
      audio: {},
    };
    for (const [field, value] of Object.entries({ ...refused, guided_json: {}, functions: [{}] })) {
      const error = chatFault({ [field]: value });
      expect(error?.code, field).toMatch(/^unsupported_(parameter|value)$/);
      expect(error?.message).toContain(`'${field}'`);
    }
  });

  it("has different codes for a missing field, a wrong type and a wrong value", () => {
    expect(fault(() => validate(chat, { messages: MESSAGES }))?.code).toBe("missing_required_parameter");
    expect(chatFault({ temperature: "hot" })?.code).toBe("invalid_type");
    expect(chatFault({ temperature: 3 })?.code).toBe("invalid_value");
    expect(fault(() => validate(chat, null))).toMatchObject({ code: "invalid_type", param: null });
  });
});

describe("prompts of a completion", () => {
  it.each([["a"], [""], [["a", "b"]], [[1, 2]], [[[1], [2, 3]]]])("%j is accepted", (prompt) => {
    expect(promptFault(prompt)).toBeNull();
  });

  it.each([
    [[], "prompt"],
    [null, "prompt"],
    [{}, "prompt"],
    [[1, "a"], "prompt[1]"],
    [["a", 1], "prompt[1]"],
    [[-1], "prompt[0]"],
    [[1.5], "prompt[0]"],
    [[[]], "prompt[0]"],
    [[[1], ["a"]], "prompt[1][0]"],
    [Array(129).fill("a"), "prompt"],
  ])("%j is refused with param %j", (prompt, param) => {
    expect(promptFault(prompt)?.param).toBe(param);
  });
});
