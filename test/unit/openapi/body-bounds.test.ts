import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { validate } from "../../../openapi/generation/validate.ts";
import { DEFAULT_REQUEST_LIMITS } from "../../../openapi/request-limits.ts";
import { rerankRequest } from "../../../openapi/resources/rerank.ts";
import { chat, chatFault, fault, MESSAGES, promptFault } from "./body-faults.ts";

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
  /** Items with a count of their reads. */
  function items(count: number): { list: unknown[]; looked: () => number } {
    let looked = 0;
    const item = () => ({
      get role() {
        looked++;
        return "unknown";
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
    expect(chatFault({ metadata })).toMatchObject({ message: "Invalid 'metadata': expected at most 16 entries." });
    expect(lists).toBe(1);
  });
  it("lists of one item at least, and maps without __proto__", () => {
    expect(chatFault({ messages: [] })).toMatchObject({
      message: expect.stringContaining(": expected at least 1 item, but got 0 items"),
    });
    const metadata = JSON.parse('{"__proto__":"a"}');
    expect(chatFault({ metadata })).toMatchObject({ message: "Invalid 'metadata': no entry may be named __proto__." });
  });
});
