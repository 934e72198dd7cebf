import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { anthropicError } from "../../openapi/anthropic/error.ts";
import { type Message, message, messageEvent } from "../../openapi/anthropic/message.ts";
import { dryRunResponse } from "../../openapi/generation/dry-run.ts";
import { DEMO_MODEL, OVER_UPSTREAM, startServer, type TestServer } from "./server.ts";
import { writeThinker } from "./thinker.ts";

const folder = mkdtempSync(join(tmpdir(), "nightshift-anthropic-"));
let server: TestServer;
beforeAll(async () => {
  const thinker = join(folder, "thinker.gguf");
  writeThinker(thinker);
  server = await startServer("--threads", "1", "--model", `demo=${DEMO_MODEL}`, "--model", `thinker=${thinker}`);
});
afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true });
});

const BODY = { model: "demo", max_tokens: 64, temperature: 0 };
const ASKED = [{ role: "user", content: "Count from 3 to 7." }];
const TOOLS = ["get_weather", "get_time"].map((name) => {
  return { name, input_schema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] } };
});

const CALL = { type: "tool_use", id: "toolu_1", name: "get_time", input: { city: "Oslo" } };
const OTHER = { ...CALL, id: "toolu_2" };
const RESULTS = [result("toolu_2"), result("toolu_1")];

function turn(role: string, ...content: object[]) {
  return { role, content };
}

function text(words: string) {
  return { type: "text", text: words };
}

function result(id: string) {
  return { type: "tool_result", tool_use_id: id, content: [text("12:00")] };
}

/** The message with which the server answers. */
async function create(fields: object, messages: object[] = ASKED): Promise<Message> {
  const response = await server.post("/v1/messages", { ...BODY, messages, ...fields });
  const body: unknown = await response.json();
  expect([response.status, body]).toEqual([200, expect.anything()]);
  return message.parse(body);
}

async function refused(fields: object, messages: object[] = ASKED) {
  const response = await server.post("/v1/messages?beta=true", { ...BODY, messages, ...fields });
  const body = anthropicError.parse(await response.json());
  expect(body.request_id).toBe(response.headers.get("request-id"));
  return { status: response.status, ...body.error };
}

async function count(fields: object, messages: object[] = ASKED): Promise<number> {
  const response = await server.post("/v1/messages/count_tokens", { model: "demo", messages, ...fields });
  return Object(await response.json()).input_tokens;
}

function texts({ content }: Message): string[] {
  return content.map((block) => (block.type === "text" ? block.text : block.type));
}

function sizeOf({ usage }: Message): number {
  return usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens;
}

describe("a request as Claude Code sends it", () => {
  const billing = (cch: string) => `x-anthropic-billing-header: cc_version=2.1; cc_entrypoint=cli; cch=${cch};`;
  const request = (cch: string) => ({
    max_tokens: 32_000,
    system: [
      { type: "text", text: billing(cch) },
      { type: "text", text: "You are a helper.", cache_control: { type: "ephemeral" } },
    ],
    thinking: { type: "adaptive" },
    metadata: { user_id: "u" },
    context_management: { edits: [] },
    tools: [...TOOLS, { type: "web_search_20250305", name: "web_search" }],
    stop_sequences: null,
  });
  const messages = [
    { role: "user", content: [{ type: "text", text: "Hello!", cache_control: { type: "ephemeral" } }] },
    {
      role: "assistant",
      content: [
        { type: "thinking", thinking: "", signature: "x" },
        { type: "text", text: "Hello." },
      ],
    },
    { role: "system", content: "Be brief." },
    { role: "user", content: "Count from 3 to 7." },
  ];

  test("is answered, and its count is what is reported", async () => {
    const response = await server.post("/v1/messages?beta=true", { ...BODY, ...request("0a1b2"), messages });
    expect(response.headers.get("x-nightshift-ignored")).toBe(
      "metadata, context_management, tools.web_search_20250305",
    );
    const first = message.parse(await response.json());
    expect(["end_turn", "model_context_window_exceeded", "tool_use"]).toContain(first.stop_reason);
    const { max_tokens: _, ...counted } = request("33333");
    expect(await count(counted, messages)).toBe(sizeOf(first));
  });

  test("shares its prefix with the next one, whose billing line differs", async () => {
    await create(request("0a1b2"), messages);
    const { usage } = await create(request("c3d4e"), messages);
    expect(usage.input_tokens).toBe(1);
  });
});

test.each<[string, object, object[]]>([
  ["empty lists", { tools: [], stop_sequences: [], system: [] }, ASKED],
  ["a call without its result", { tools: TOOLS }, [...ASKED, turn("assistant", CALL), turn("user", text("Go on."))]],
  ["a result without its call", { tools: TOOLS }, [turn("user", result("toolu_2"), text("Go on."))]],
  ["results in another order", { tools: TOOLS }, [...ASKED, turn("assistant", CALL, OTHER), turn("user", ...RESULTS)]],
  ["a first message of the assistant", {}, [turn("assistant", text("Hello.")), ...ASKED]],
])("a request with %s is answered", async (_, fields, messages) => {
  expect((await create({ max_tokens: 4, ...fields }, messages)).stop_reason).not.toBeNull();
});

describe("an answer", () => {
  test.skipIf(OVER_UPSTREAM)("continues a last message of the assistant", async () => {
    const messages = [...ASKED, { role: "assistant", content: "3, 4," }];
    const answer = await create({}, messages);
    expect(texts(answer)).toEqual([" 5, 6, 7"]);
    expect(await count({}, messages)).toBe(sizeOf(answer));
    expect(await refused({ model: "thinker", thinking: { type: "adaptive" } }, messages)).toMatchObject({
      status: 400,
      type: "invalid_request_error",
      message: expect.stringContaining("cannot continue an answer"),
    });
  });

  test.skipIf(OVER_UPSTREAM)("ends by max_tokens, 0 included", async () => {
    expect(await create({ max_tokens: 2 })).toMatchObject({ stop_reason: "max_tokens" });
    expect(await create({ max_tokens: 0 })).toMatchObject({ content: [], stop_reason: "max_tokens" });
  });

  test("follows output_config.format", async () => {
    const schema = { type: "object", properties: { n: { enum: [12, 14] } }, required: ["n"] };
    const answer = await create({ output_config: { format: { type: "json_schema", schema } } });
    expect([12, 14]).toContain(JSON.parse(texts(answer)[0]!).n);
  });

  test.skipIf(OVER_UPSTREAM)("is a dry run where it is asked for", async () => {
    const response = await server.post("/v1/messages", { ...BODY, messages: ASKED, nightshift: { dry_run: true } });
    expect(dryRunResponse.parse(await response.json()).prompt_tokens).toBe(await count({}));
  });
});

describe("tool_choice", () => {
  const weather = [{ role: "user", content: "What is the weather in Oslo?" }];
  const names = ({ content }: Message) => content.flatMap((block) => (block.type === "tool_use" ? [block.name] : []));

  test.each<[object, string[]]>([
    [{ type: "tool", name: "get_time" }, ["get_time"]],
    [{ type: "auto", disable_parallel_tool_use: true }, ["get_weather"]],
    [{ type: "none" }, []],
  ])("%j is obeyed", async (tool_choice, called) => {
    const answer = await create({ tools: TOOLS, tool_choice }, weather);
    expect(names(answer)).toEqual(called);
    expect(answer.stop_reason === "tool_use").toBe(called.length > 0);
  });
});

describe("reasoning", () => {
  const think = (thinking?: object) => create({ model: "thinker", max_tokens: 40, ...(thinking && { thinking }) });

  test("is in the answer where it is asked for, with a signature", async () => {
    const { content, usage } = await think({ type: "enabled", budget_tokens: 5 });
    expect(content[0]).toMatchObject({ type: "thinking", thinking: expect.stringMatching(/./) });
    expect(Object(content[0]).signature).not.toBe("");
    expect(usage.output_tokens_details.thinking_tokens).toBeGreaterThan(0);
  });

  test("has a signature alone with display omitted", async () => {
    const { content } = await think({ type: "enabled", budget_tokens: 5, display: "omitted" });
    expect(content[0]).toMatchObject({ type: "thinking", thinking: "", signature: expect.stringMatching(/./) });
  });

  test("is off by default", async () => {
    const { content, usage } = await think();
    expect(content.map(({ type }) => type)).not.toContain("thinking");
    expect(usage.output_tokens_details.thinking_tokens).toBe(0);
  });

  test("is ignored by a model without it", async () => {
    expect(texts(await create({ thinking: { type: "enabled", budget_tokens: 2048 } }))).toEqual(["3, 4, 5, 6, 7"]);
  });
});

test("a stream has named events in their order, and ends with message_stop", async () => {
  const response = await server.post("/v1/messages", { ...BODY, messages: ASKED, stream: true });
  expect(response.headers.get("content-type")).toContain("text/event-stream");
  const events = (await response.text()).split("\n\n").filter(Boolean);
  const types = events.map((event) => {
    const [name, data] = event.split("\n");
    const { type } = messageEvent.parse(JSON.parse(data!.replace("data: ", "")));
    expect(name).toBe(`event: ${type}`);
    return type;
  });
  expect(types.filter((type, index) => type !== types[index - 1])).toEqual([
    ...["message_start", "content_block_start", "content_block_delta", "content_block_stop"],
    ...["message_delta", "message_stop"],
  ]);
});

test.skipIf(OVER_UPSTREAM)(
  "a prompt that is too long for the context is counted, and refused with its count",
  async () => {
    const long = [{ role: "user", content: "word ".repeat(6000) }];
    const tokens = await count({}, long);
    const { status, message: text } = await refused({}, long);
    expect([status, text]).toEqual([
      400,
      expect.stringMatching(`^prompt is too long: ${tokens} tokens > \\d+ maximum$`),
    ]);
  },
);

test("errors of every kind have Anthropic's form on these paths, and elsewhere for its clients", async () => {
  expect(await refused({ model: "none" })).toMatchObject({ status: 404, type: "not_found_error" });
  expect(await refused({ max_tokens: "1" })).toMatchObject({
    status: 400,
    message: expect.stringMatching(/^max_tokens: /),
  });
  const broken = await server.post("/v1/messages", "{");
  expect(anthropicError.parse(await broken.json()).error.type).toBe("invalid_request_error");
  const headers = { "anthropic-version": "2023-06-01" };
  const ofOllama = await fetch(`${server.origin}/api/none`, { headers });
  expect(await ofOllama.json()).toEqual({ error: expect.any(String) });
  const unknown = await fetch(`${server.origin}/v1/files/none`, { headers });
  expect(anthropicError.parse(await unknown.json()).error.type).toBe("not_found_error");
});
