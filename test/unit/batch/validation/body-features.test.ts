import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { bodyFeatures } from "../../../../batch/validation/body-features.ts";
import type { Submission } from "../../../../engine/engine.ts";
import { REQUEST_FEATURES, type RequestFeature } from "../../../../engine/protocol/config.ts";
import { featuresOf } from "../../../../engine/upstream/dialect/request-body.ts";
import { messagesRequest } from "../../../../openapi/anthropic/messages.ts";
import { chatRequest } from "../../../../openapi/generation/chat.ts";
import { completionRequest } from "../../../../openapi/generation/completions.ts";
import { validate } from "../../../../openapi/generation/validate.ts";
import { DEFAULT_REQUEST_LIMITS } from "../../../../openapi/request-limits.ts";
import { responsesRequest } from "../../../../openapi/responses/request.ts";
import { messagesDialect } from "../../../../server/dialects/anthropic/messages.ts";
import { chatReader } from "../../../../server/dialects/chat.ts";
import { completionDialect } from "../../../../server/dialects/completions.ts";
import { givenItems, NOTHING_STORED } from "../../../../server/dialects/responses/given-items.ts";
import { responseTurn } from "../../../../server/dialects/responses/response-turn.ts";
import { toolSet } from "../../../../server/dialects/responses/tool-set.ts";
import type { GenerationRequest } from "../../../../server/generation/request.ts";
import { turnRequest } from "../../../../server/generation/turn-request.ts";
import { chatLine, jsonl } from "../../../batch/batch-rig.ts";
import { check, errorsOf, RULES } from "./check-file.ts";

const LIMITS = DEFAULT_REQUEST_LIMITS;
const responses = responsesRequest(LIMITS);

/** By endpoint: the parts of a body that are required, its schema, and the reader that requests pass. */
const ENDPOINTS = {
  "/v1/chat/completions": {
    base: { messages: [{ role: "user", content: "a" }] },
    parse: (body: unknown) => validate(chatRequest(LIMITS), body),
    read: chatReader(LIMITS),
  },
  "/v1/completions": {
    base: { prompt: "a" },
    parse: (body: unknown) => validate(completionRequest(LIMITS), body),
    read: completionDialect(LIMITS).read,
  },
  "/v1/messages": {
    base: { messages: [{ role: "user", content: "a" }], max_tokens: 9 },
    parse: (body: unknown) => validate(messagesRequest(LIMITS), body),
    read: messagesDialect(LIMITS).read,
  },
  "/v1/responses": {
    base: { input: "a" },
    parse: (body: unknown) => validate(responses, body),
    read: (json: unknown): Pick<GenerationRequest, "submissions"> => {
      const body = validate(responses, json);
      const items = givenItems(body.input, NOTHING_STORED);
      return turnRequest(responseTurn(body, { items, open: () => null }, toolSet(body)));
    },
  },
};
type Endpoint = keyof typeof ENDPOINTS;

/** The features of a body by its own check, and those of the submissions that the endpoint makes of it. */
function featuresBoth(endpoint: Endpoint, more: object) {
  const { base, parse, read } = ENDPOINTS[endpoint];
  const body = { model: "demo", ...base, ...more };
  const submissions = read(body, "team").submissions as Submission[];
  return {
    checked: bodyFeatures(endpoint, parse(body)),
    used: new Set(submissions.flatMap((submission) => [...featuresOf(submission)])),
  };
}

const tool = (name: string) => ({ type: "function", function: { name } });
const CHAT = "/v1/chat/completions";
const TEXT = "/v1/completions";
const MESSAGES = "/v1/messages";
const RESPONSES = "/v1/responses";

const ROWS: [Endpoint, object, RequestFeature | null][] = [
  [CHAT, {}, null],
  [CHAT, { tools: [tool("f")] }, "tools"],
  [CHAT, { tools: [tool("f")], tool_choice: "none" }, null],
  [CHAT, { grammar: 'root ::= "a"' }, "a GBNF grammar"],
  [CHAT, { response_format: { type: "json_object" } }, null],
  [CHAT, { json_schema: { type: "string" } }, null],
  [CHAT, { logit_bias: { 5: 1 } }, "logit_bias"],
  [CHAT, { logit_bias: {} }, null],
  [CHAT, { top_k: 40 }, "top_k and min_p"],
  [CHAT, { top_k: -1, min_p: 0 }, null],
  [CHAT, { min_p: 0.1 }, "top_k and min_p"],
  [CHAT, { repetition_penalty: 1.1 }, "repetition_penalty"],
  [CHAT, { repetition_penalty: 1 }, null],
  [CHAT, { min_tokens: 2 }, "min_tokens and stop_token_ids"],
  [CHAT, { stop_token_ids: [3] }, "min_tokens and stop_token_ids"],
  [CHAT, { ignore_eos: true }, "ignore_eos"],
  [CHAT, { min_tokens: 0, stop_token_ids: [], ignore_eos: false }, null],
  [CHAT, { chat_template_kwargs: { enable_thinking: false } }, "chat_template_kwargs"],
  [CHAT, { thinking_token_budget: 100 }, "a reasoning budget"],
  [CHAT, { thinking_token_budget: -1 }, null],
  [CHAT, { typical_p: 0.9 }, "samplers of llama.cpp"],
  [CHAT, { mirostat: 2 }, "samplers of llama.cpp"],
  [CHAT, { dry_multiplier: 0.8 }, "samplers of llama.cpp"],
  [CHAT, { xtc_probability: 0.5 }, "samplers of llama.cpp"],
  [CHAT, { top_n_sigma: 1 }, "samplers of llama.cpp"],
  [CHAT, { dynatemp_range: 0.5 }, "samplers of llama.cpp"],
  [CHAT, { repeat_last_n: 32 }, "samplers of llama.cpp"],
  [TEXT, { prompt: [1, 2] }, "prompts of tokens"],
  [TEXT, { prompt: [[1, 2], [3]] }, "prompts of tokens"],
  [TEXT, { echo: true, logprobs: 1 }, "log probabilities of the prompt"],
  [TEXT, { echo: true }, null],
  [MESSAGES, { tools: [{ name: "f", input_schema: { type: "object" } }] }, "tools"],
  [MESSAGES, { tools: [{ name: "f", type: "web_search_20250305" }] }, null],
  [MESSAGES, { messages: [{ role: "assistant", content: "It is" }] }, "a prefilled answer"],
  [MESSAGES, { thinking: { type: "enabled", budget_tokens: 1024 } }, "a reasoning budget"],
  [MESSAGES, { top_k: 3 }, "top_k and min_p"],
  [RESPONSES, { tools: [{ type: "function", name: "f" }] }, "tools"],
  [RESPONSES, { tools: [{ type: "web_search" }] }, null],
];

test.each(ROWS)("%s with %j uses %s, as its submission does", (endpoint, more, feature) => {
  const { checked, used } = featuresBoth(endpoint, more);
  const wanted = new Set(feature === null ? [] : [feature]);
  expect({ checked, used }).toEqual({ checked: wanted, used: wanted });
});

test("each feature is found in some body", () => {
  expect(new Set(ROWS.map(([, , feature]) => feature))).toEqual(new Set([...REQUEST_FEATURES, null]));
});

const optional = <Value>(values: fc.Arbitrary<Value>) => fc.option(values, { nil: undefined });
const sampling = fc.record({
  top_k: optional(fc.constantFrom(-1, 0, 5)),
  min_p: optional(fc.constantFrom(0, 0.5)),
  repetition_penalty: optional(fc.constantFrom(1, 1.2)),
  typical_p: optional(fc.constantFrom(0.5, 1)),
  top_n_sigma: optional(fc.constantFrom(-1, 0, 2)),
  min_keep: optional(fc.constantFrom(0, 3)),
  xtc_probability: optional(fc.constantFrom(0, 0.5)),
  xtc_threshold: optional(fc.constantFrom(0.1, 0.6)),
  dynatemp_range: optional(fc.constantFrom(0, 1)),
  mirostat: optional(fc.constantFrom(0, 1, 2)),
  repeat_last_n: optional(fc.constantFrom(-1, 0, 64)),
  dry_multiplier: optional(fc.constantFrom(0, 1)),
  dry_penalty_last_n: optional(fc.constantFrom(0, 64)),
  min_tokens: optional(fc.constantFrom(0, 4)),
  ignore_eos: optional(fc.boolean()),
  logit_bias: optional(fc.constantFrom({}, { 1: 2 })),
});

test.each([CHAT, TEXT, RESPONSES] as const)("%s: a body has no feature that its submission lacks", (endpoint) => {
  fc.assert(
    fc.property(sampling, (more) => {
      const { checked, used } = featuresBoth(endpoint, more);
      expect([...checked].filter((feature) => !used.has(feature))).toEqual([]);
    }),
  );
});

describe("validation for a model of an upstream", () => {
  const upstream = (...refuses: RequestFeature[]) => {
    const bounds = RULES.bounds.get("demo")!;
    return { bounds: new Map([["demo", { ...bounds, upstream: { name: "gpu", refuses } }]]) };
  };
  const asked = chatLine("a", "hi");
  const withTools = { ...asked, body: { ...asked.body, tools: [tool("f")] } };

  it("refuses a line with what the upstream does not take, and names both", async () => {
    expect(await errorsOf(jsonl([asked, withTools, withTools].map(numbered)), upstream("tools"))).toMatchObject([
      { code: "invalid_request", line: 2, message: "The upstream 'gpu' does not take tools for this model." },
      { line: 3 },
    ]);
  });

  it("takes it where the upstream does", async () => {
    expect((await check(jsonl([withTools]), upstream("logit_bias"))).outcome.valid).toBe(true);
  });
});

function numbered<Line>(line: Line, index: number) {
  return { ...line, custom_id: `line ${index}` };
}
