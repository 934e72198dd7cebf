import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ApiError } from "../../../openapi/api-error.ts";
import { chatRequest } from "../../../openapi/generation/chat.ts";
import { completionRequest } from "../../../openapi/generation/completions.ts";
import { validate } from "../../../openapi/generation/validate.ts";
import { DEFAULT_REQUEST_LIMITS } from "../../../openapi/request-limits.ts";
import { rerankRequest } from "../../../openapi/resources/rerank.ts";

const chat = chatRequest(DEFAULT_REQUEST_LIMITS);
const completion = completionRequest(DEFAULT_REQUEST_LIMITS);
const MESSAGES = [{ role: "user", content: "hi" }];

/** What is wrong with a chat body of these fields, or null. */
function chatFault(fields: object): ApiError | null {
  return fault(() => validate(chat, { model: "demo", messages: MESSAGES, ...fields }));
}

function promptFault(prompt: unknown): ApiError | null {
  return fault(() => validate(completion, { model: "demo", prompt }));
}

function fault(act: () => unknown): ApiError | null {
  try {
    act();
    return null;
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
}

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
      store: true,
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

describe("a hostile body", () => {
  it("with a million faults is refused at the first one", () => {
    const faults = { role: "user", content: Array(1000).fill(1) };
    const before = process.memoryUsage().heapUsed;
    expect(chatFault({ messages: Array(8).fill(faults) })?.param).toBe("messages[0].content[0]");
    expect(promptFault(Array(1_000_000).fill("1"))?.status).toBe(400);
    expect(promptFault(Array(1_000_000).fill(-1))?.param).toBe("prompt[0]");
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(64 * 1024 * 1024);
  });

  it("of any shape is accepted or refused with 400", () => {
    const field = fc.constantFrom(
      "messages",
      "stop",
      "n",
      "tools",
      "tool_choice",
      "logit_bias",
      "metadata",
      "stream_options",
      "seed",
      "prompt",
    );
    fc.assert(
      fc.property(fc.dictionary(field, fc.jsonValue()), fc.jsonValue(), (fields, message) => {
        for (const error of [chatFault(fields), chatFault({ messages: [message] }), promptFault(message)]) {
          if (error !== null) expect(error.status).toBe(400);
        }
      }),
      { numRuns: 300 },
    );
  });
});

describe("a body with many faults", () => {
  /** Items of which each counts that it was looked at. */
  function items(count: number): { list: unknown[]; looked: () => number } {
    let looked = 0;
    const item = () => ({
      get role() {
        looked++;
        return "nobody";
      },
    });
    return { list: Array.from({ length: count }, item), looked: () => looked };
  }

  it("is validated up to its first invalid item", () => {
    const { list, looked } = items(4096);
    expect(chatFault({ messages: list })).toMatchObject({ param: "messages[0].role" });
    expect(looked()).toBeLessThan(10);
  });

  it("has the length of a list checked before its items", () => {
    const { list, looked } = items(4097);
    expect(chatFault({ messages: list })).toMatchObject({ param: "messages" });
    expect(looked()).toBe(0);
  });

  it.each(["logit_bias", "metadata"])("has the number of entries of %s checked before the entries", (field) => {
    let looked = 0;
    const entries = Array.from({ length: 1025 }, (_, i): [string, PropertyDescriptor] => [
      `x${i}`,
      { enumerable: true, get: () => ++looked },
    ]);
    expect(chatFault({ [field]: Object.defineProperties({}, Object.fromEntries(entries)) })).toMatchObject({
      param: field,
    });
    expect(looked).toBe(0);
  });
});

it("bounds the schemas of strict tools together, before any becomes a grammar", () => {
  const parameters = { type: "object", properties: { a: { type: "string", description: "x".repeat(50_000) } } };
  const tool = (i: number, strict: boolean) => ({ type: "function", function: { name: `f${i}`, strict, parameters } });
  const tools = (count: number, strict: boolean) => Array.from({ length: count }, (_, i) => tool(i, strict));
  expect(chatFault({ tools: tools(2, true) })).toBeNull();
  expect(chatFault({ tools: tools(3, true) })).toMatchObject({ code: "invalid_value", param: "tools" });
  expect(chatFault({ tools: tools(3, false) })).toBeNull();
});

it("bounds the length of a query times the number of documents", () => {
  const schema = rerankRequest(DEFAULT_REQUEST_LIMITS);
  const body = { model: "m", query: "q".repeat(4096), documents: Array<string>(1024).fill("d") };
  expect(fault(() => validate(schema, body))).toBeNull();
  const more = { ...body, documents: [...body.documents, "d"] };
  expect(fault(() => validate(schema, more))).toMatchObject({ code: "invalid_value", param: "query", status: 400 });
});

it("refuses a schema of very many members by its length, without copying it", () => {
  const parameters = Object.fromEntries(Array.from({ length: 32_000 }, (_, i) => [`k${i}`, "v"]));
  const tool = (strict: boolean) => [{ type: "function", function: { name: "f", parameters, strict } }];
  const body = validate(chat, { model: "demo", messages: MESSAGES, tools: tool(false) });
  const [first] = body.tools!;
  expect(first?.type === "function" && first.function.parameters).toBe(parameters);
  expect(chatFault({ tools: tool(true) })?.message).toContain("more than 131072 characters");
  expect(chatFault({ json_schema: parameters })?.message).toContain("more than 131072 characters");
  for (const wrong of [5, [], "x"]) expect(chatFault({ json_schema: wrong })).toMatchObject({ code: "invalid_type" });
});

describe("bounds that are checked before a body is copied", () => {
  /** Items that count how often one of their fields is read. */
  function counted(fields: object, length: number): { items: object[]; looks: () => number } {
    let looks = 0;
    const item = Object.defineProperty({ ...fields }, "type", {
      enumerable: true,
      get() {
        looks++;
        return "text";
      },
    });
    return { items: Array(length).fill(item), looks: () => looks };
  }

  it("content parts and tool calls of all messages together: 8,192", () => {
    const { items, looks } = counted({ text: "x" }, 1024);
    const messages = (count: number) => Array(count).fill({ role: "user", content: items });
    expect(chatFault({ messages: messages(8) })).toBeNull();
    const before = looks();
    expect(chatFault({ messages: [...messages(8), { role: "user", content: items.slice(0, 1) }] })).toMatchObject({
      code: "invalid_value",
      param: "messages",
      message: "Invalid 'messages': at most 8192 content parts and tool calls of all messages together.",
    });
    expect(looks()).toBe(before);
    const call = { id: "c", type: "function", function: { name: "f", arguments: "{}" } };
    const calling = (count: number) => ({ role: "assistant", tool_calls: Array(count).fill(call) });
    expect(chatFault({ messages: Array(64).fill(calling(128)) })).toBeNull();
    expect(chatFault({ messages: [...Array(64).fill(calling(128)), calling(1)] })).toMatchObject({ param: "messages" });
  });

  it("characters of all tools together: 1,048,576", () => {
    const tools = (characters: number) => [
      { type: "function", function: { name: "f", parameters: { description: "x".repeat(characters) } } },
    ];
    const frame = JSON.stringify(tools(0)).length;
    expect(chatFault({ tools: tools(2 ** 20 - frame) })).toBeNull();
    expect(chatFault({ tools: tools(2 ** 20 - frame + 1) })).toMatchObject({ code: "invalid_value", param: "tools" });
    const { items, looks } = counted({}, 1_000_000);
    const large = [{ type: "function", function: { name: "f", parameters: { anyOf: items } } }];
    expect(chatFault({ tools: large })).toMatchObject({ code: "invalid_value", param: "tools" });
    expect(looks()).toBeLessThan(2 ** 20 / JSON.stringify(items[0]).length + 10);
  });

  it("object members of all tools together: 32,768", () => {
    const tools = (members: number) => [
      {
        type: "function",
        function: {
          name: "f",
          parameters: Object.fromEntries(Array.from({ length: members }, (_, i) => [`p${i}`, 0])),
        },
      },
    ];
    // Of the tool and its function there are four.
    expect(chatFault({ tools: tools(2 ** 15 - 4) })).toBeNull();
    expect(chatFault({ tools: tools(2 ** 15 - 3) })).toMatchObject({
      param: "tools",
      message: "Invalid 'tools': they have more than 32768 object members together.",
    });
  });

  it("pairs of metadata, whose keys are listed once", () => {
    let lists = 0;
    const metadata = new Proxy(
      {},
      {
        ownKeys() {
          lists++;
          return Array.from({ length: 17 }, (_, i) => `k${i}`);
        },
        getOwnPropertyDescriptor: () => ({ value: "v", enumerable: true, configurable: true }),
      },
    );
    expect(chatFault({ metadata })).toMatchObject({ message: "Invalid 'metadata': at most 16 entries." });
    expect(lists).toBe(1);
  });
});
