import { describe, expect, it, test } from "vitest";
import type { Submission } from "../../../../../engine/engine.ts";
import type { FunctionTool, Prompt } from "../../../../../engine/protocol/prompt.ts";
import type { Sampling } from "../../../../../engine/protocol/sampling.ts";
import { dialectOf, kindOfOwner } from "../../../../../engine/upstream/dialect/kinds.ts";
import { featuresOf, upstreamRequest } from "../../../../../engine/upstream/dialect/request-body.ts";
import { UPSTREAM_KINDS, type UpstreamKind } from "../../../../../engine/upstream/dialect/upstream-config.ts";
import { PLAIN_SAMPLING, PLAIN_SUBMISSION } from "../../../../plain-submission.ts";
import { chat } from "../upstream-rig.ts";

type ChatPrompt = Extract<Prompt, { kind: "chat" }>;

const bodyOf = (submission: Submission, kind: UpstreamKind = "vllm") =>
  upstreamRequest(submission, "id", dialectOf(kind)).body;
const sampled = (sampling: Partial<Sampling>) => chat("x", { sampling: { ...PLAIN_SAMPLING, ...sampling } });
const prompted = (fields: Partial<ChatPrompt>) => {
  const submission = chat("x");
  return { ...submission, prompt: { ...(submission.prompt as ChatPrompt), ...fields } };
};
const tool = (name: string): FunctionTool => ({ type: "function", function: { name } });
/** Fields of every body of a chat. */
const USUAL = {
  model: "id",
  stream: true,
  stream_options: { include_usage: true },
  messages: [{ role: "user", content: "x" }],
  temperature: 0,
};
const DRY = { multiplier: 1, base: 2, allowedLength: 3, window: 4, breakers: ["\n"] };
const LLAMA: Partial<Sampling> = {
  dynamicTemperature: { range: 0.5, exponent: 1.5 },
  typicalP: 0.9,
  topNSigma: 1,
  minKeep: 2,
  xtc: { probability: 0.5, threshold: 0.1 },
  mirostat: { version: 2, tau: 5, eta: 0.1 },
  penaltyWindow: 64,
  dry: DRY,
};

describe("a body for an upstream", () => {
  test.each(UPSTREAM_KINDS)("has only what the request sets: %s", (kind) => {
    expect(upstreamRequest(chat("x"), "id", dialectOf(kind))).toEqual({ path: "/chat/completions", body: USUAL });
  });

  it("bounds the answer of a chat by the newer name where the model takes no other", () => {
    const bodies = [chat("x", { maxTokens: 5 }), { ...PLAIN_SUBMISSION, maxTokens: 5 }].map((submission) => {
      return upstreamRequest(submission, "id", dialectOf("openai"), { completionTokens: true }).body;
    });
    expect(bodies[0]).toEqual({ ...USUAL, max_completion_tokens: 5 });
    expect(bodies[1]).toMatchObject({ max_tokens: 5 });
  });

  it("has nothing of the owner, the tier or the endpoint", () => {
    const submission = chat("x", { owner: "someone", tier: "batch", endpoint: "/v1/secret" });
    expect(bodyOf(submission)).toEqual(USUAL);
  });

  test.each<[string, Submission, object]>([
    ["n", chat("x", { n: 3 }), { n: 3 }],
    ["max_tokens", chat("x", { maxTokens: 0 }), { max_tokens: 0 }],
    ["stop", chat("x", { stop: ["a", "b"] }), { stop: ["a", "b"] }],
    ["logprobs", chat("x", { logprobs: { top: 2, prompt: false } }), { logprobs: true, top_logprobs: 2 }],
    ["min_tokens", chat("x", { minTokens: 4 }), { min_tokens: 4 }],
    ["stop_token_ids", chat("x", { stopTokenIds: [7] }), { stop_token_ids: [7] }],
    ["ignore_eos", chat("x", { ignoreEos: true }), { ignore_eos: true }],
    ["temperature", sampled({ temperature: 0.5 }), { temperature: 0.5 }],
    ["top_p", sampled({ topP: 0.5 }), { top_p: 0.5 }],
    ["top_k", sampled({ topK: 5 }), { top_k: 5 }],
    ["min_p", sampled({ minP: 0.5 }), { min_p: 0.5 }],
    ["frequency_penalty", sampled({ frequencyPenalty: 1 }), { frequency_penalty: 1 }],
    ["presence_penalty", sampled({ presencePenalty: -1 }), { presence_penalty: -1 }],
    ["repetition_penalty", sampled({ repetitionPenalty: 1.5 }), { repetition_penalty: 1.5 }],
    ["logit_bias", sampled({ logitBias: [[5, -100]] }), { logit_bias: { 5: -100 } }],
    ["seed", sampled({ seed: 0 }), { seed: 0 }],
    ["tools", prompted({ tools: [tool("f")] }), { tools: [tool("f")] }],
    ["chat_template_kwargs", prompted({ variables: { a: 1 } }), { chat_template_kwargs: { a: 1 } }],
    ["reasoning_effort", prompted({ thinking: { effort: "low", budget: null } }), { reasoning_effort: "low" }],
    [
      "no reasoning",
      prompted({ thinking: { effort: "none", budget: null } }),
      { reasoning_effort: "none", chat_template_kwargs: { enable_thinking: false } },
    ],
    ["an unbounded reasoning", prompted({ thinking: { effort: null, budget: Number.POSITIVE_INFINITY } }), {}],
  ])("has %s", (_, submission, fields) => {
    expect(bodyOf(submission)).toEqual({ ...USUAL, ...fields });
  });

  it("has the samplers of llama.cpp by its names, where it knows them", () => {
    const submission = sampled({ ...LLAMA, repetitionPenalty: 1.5 });
    const named = {
      ...{ dynatemp_range: 0.5, dynatemp_exponent: 1.5, typical_p: 0.9, top_n_sigma: 1, min_keep: 2 },
      ...{ xtc_probability: 0.5, xtc_threshold: 0.1, mirostat: 2, mirostat_tau: 5, mirostat_eta: 0.1 },
      ...{ repeat_last_n: 64, repeat_penalty: 1.5 },
      ...{
        dry_multiplier: 1,
        dry_base: 2,
        dry_allowed_length: 3,
        dry_penalty_last_n: 4,
        dry_sequence_breakers: ["\n"],
      },
    };
    for (const kind of ["llama-server", "nightshift"] as const)
      expect(bodyOf(submission, kind)).toEqual({ ...USUAL, ...named });
    expect(bodyOf(submission, "vllm")).toEqual({ ...USUAL, repetition_penalty: 1.5 });
  });

  it("calls a developer system where templates do not know that role", () => {
    const submission = prompted({ messages: [{ role: "developer", content: "x" }] });
    expect(bodyOf(submission, "vllm").messages).toEqual([{ role: "system", content: "x" }]);
    expect(bodyOf(submission, "openai").messages).toEqual([{ role: "developer", content: "x" }]);
  });

  it("ends with the beginning of an answer, which vLLM has to be told to continue", () => {
    const submission = prompted({ answerStart: "So" });
    const messages = [...USUAL.messages, { role: "assistant", content: "So" }];
    const told = { add_generation_prompt: false, continue_final_message: true };
    expect(bodyOf(submission, "vllm")).toEqual({ ...USUAL, messages, ...told });
    expect(bodyOf(submission, "llama-server")).toEqual({ ...USUAL, messages });
  });

  it("is of completions for a text and for tokens", () => {
    const { messages: _, ...usual } = USUAL;
    const text = {
      ...PLAIN_SUBMISSION,
      prompt: { kind: "text" as const, text: "t" },
      logprobs: { top: 1, prompt: false },
    };
    expect(upstreamRequest(text, "id", dialectOf("vllm"))).toEqual({
      path: "/completions",
      body: { ...usual, prompt: "t", logprobs: 1 },
    });
    expect(bodyOf({ ...PLAIN_SUBMISSION, prompt: { kind: "tokens", tokens: [1, 2] } })).toEqual({
      ...usual,
      prompt: [1, 2],
    });
  });
});

describe("the form of an answer", () => {
  const schema = { type: "object", properties: { a: { type: "string" } } };
  const choice = { callable: [tool("f")], required: false, restricted: false, parallel: true, answer: null };
  const rule = { gbnf: 'root ::= "a"', triggers: null };

  test.each<[string, Partial<Submission>, object]>([
    [
      "a schema",
      { grammar: { ...rule, schema } },
      { response_format: { type: "json_schema", json_schema: { name: "answer", schema } } },
    ],
    ...[true, false].map((strict): [string, Partial<Submission>, object] => [
      `a schema that the client calls ${strict ? "" : "not "}strict`,
      { grammar: { ...rule, schema, strict } },
      { response_format: { type: "json_schema", json_schema: { name: "answer", schema, strict } } },
    ]),
    ["any object", { grammar: { ...rule, schema: { type: "object" } } }, { response_format: { type: "json_object" } }],
    ["a grammar", { grammar: { ...rule, schema: null } }, { grammar: rule.gbnf }],
  ])("is %s", (_, more, fields) => {
    expect(bodyOf(chat("x", more), "llama-server")).toEqual({ ...USUAL, ...fields });
  });

  const offered = [tool("f"), tool("g")];
  test.each<[string, Partial<typeof choice>, object]>([
    ["free", { callable: offered }, { tools: offered }],
    ["required", { callable: offered, required: true }, { tools: offered, tool_choice: "required" }],
    [
      "one of several",
      { callable: [tool("g")], required: true, restricted: true },
      { tools: offered, tool_choice: { type: "function", function: { name: "g" } } },
    ],
    ["some of several", { callable: [tool("g")], restricted: true }, { tools: [tool("g")] }],
    ["one after another", { callable: offered, parallel: false }, { tools: offered, parallel_tool_calls: false }],
  ])("is a choice of tools: %s", (_, more, fields) => {
    expect(bodyOf({ ...prompted({ tools: offered }), toolChoice: { ...choice, ...more } })).toEqual({
      ...USUAL,
      ...fields,
    });
  });

  it("is a choice among some tools where the upstream knows one", () => {
    const submission = {
      ...prompted({ tools: offered }),
      toolChoice: { ...choice, callable: [tool("g")], restricted: true },
    };
    const allowed = { type: "allowed_tools", allowed_tools: { mode: "auto", tools: [tool("g")] } };
    expect(bodyOf(submission, "nightshift")).toEqual({ ...USUAL, tools: offered, tool_choice: allowed });
  });

  it("is a schema beside tools", () => {
    const body = bodyOf({
      ...prompted({ tools: offered }),
      toolChoice: { ...choice, callable: offered, answer: schema, strict: true },
    });
    const json_schema = { schema, strict: true };
    expect(body).toMatchObject({ tools: offered, response_format: { type: "json_schema", json_schema } });
  });
});

describe("the parts that some upstreams do not take", () => {
  test.each<[string, Submission]>([
    ["tools", prompted({ tools: [tool("f")] })],
    ["a GBNF grammar", chat("x", { grammar: { gbnf: "", triggers: null, schema: null } })],
    ["prompts of tokens", { ...PLAIN_SUBMISSION, prompt: { kind: "tokens", tokens: [1] } }],
    ["log probabilities of the prompt", chat("x", { logprobs: { top: 0, prompt: true } })],
    ["logit_bias", sampled({ logitBias: [[1, 1]] })],
    ["a prefilled answer", prompted({ answerStart: "" })],
    ["top_k and min_p", sampled({ minP: 0.1 })],
    ["repetition_penalty", sampled({ repetitionPenalty: 2 })],
    ...Object.entries(LLAMA).map(([key, value]): [string, Submission] => [
      "samplers of llama.cpp",
      sampled({ [key]: value }),
    ]),
    ["min_tokens and stop_token_ids", chat("x", { minTokens: 1 })],
    ["min_tokens and stop_token_ids", chat("x", { stopTokenIds: [1] })],
    ["ignore_eos", chat("x", { ignoreEos: true })],
    ["chat_template_kwargs", prompted({ variables: { a: 1 } })],
    ["a reasoning budget", prompted({ thinking: { effort: null, budget: 5 } })],
  ])("are found: %s", (feature, submission) => {
    expect([...featuresOf(submission)]).toEqual([feature]);
  });

  it("are none of a plain request, nor of one with a schema", () => {
    expect(featuresOf(chat("x")).size).toBe(0);
    expect(featuresOf(chat("x", { grammar: { gbnf: "", triggers: null, schema: {} } })).size).toBe(0);
  });

  it("are known for each kind", () => {
    const refused = Object.fromEntries(UPSTREAM_KINDS.map((kind) => [kind, dialectOf(kind).refuses.length]));
    expect(refused).toEqual({
      ...{ vllm: 4, sglang: 4, "llama-server": 2, tgi: 11, trtllm: 11, triton: 11, ray: 4, kserve: 4, dynamo: 10 },
      ...{ "llm-d": 4, openai: 11, nightshift: 2 },
    });
  });
});

test.each([
  ["vllm", "vllm"],
  ["sglang", "sglang"],
  ["nightshift", "nightshift"],
  ["llamacpp", "llama-server"],
  ["openai", "openai"],
  [undefined, "openai"],
  [7, "openai"],
])("models owned by %s are of the kind %s", (owner, kind) => {
  expect(kindOfOwner(owner)).toBe(kind);
});
