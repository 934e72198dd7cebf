import { PassThrough } from "node:stream";
import type OpenAI from "openai";
import { toFile } from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { exportCommand } from "../../server/cli/export-command.ts";
import { user } from "./ask.ts";
import { failure } from "./failure.ts";
import { KeyedServer } from "./keyed.ts";
import { until } from "./until.ts";

const TERMS = { scopes: ["inference", "batches"] };
const CHAT = { model: "demo", messages: [user("Hello!")], temperature: 0, max_tokens: 4 };
const TOOL = {
  type: "function",
  function: { name: "get_time", parameters: { type: "object", properties: {} } },
} as const;

let keyed: KeyedServer;
let client: OpenAI;
let stranger: OpenAI;
beforeAll(async () => {
  keyed = await KeyedServer.start("--max-stored", "60");
  ({ client } = await keyed.key(TERMS));
  ({ client: stranger } = await keyed.key({ ...TERMS, owner: "stranger" }));
});
afterAll(() => keyed.server.stop());

const missing = { status: 404, code: null };
const store = (fields: object = {}) =>
  client.chat.completions.create({
    ...CHAT,
    store: true,
    ...fields,
    stream: false,
  } as OpenAI.ChatCompletionCreateParamsNonStreaming);

describe("a stored chat completion", () => {
  test("is retrieved as it was answered, with the fields of its request", async () => {
    const metadata = { job: "retrieve" };
    const answered = await store({ metadata, seed: 7, tools: [TOOL], tool_choice: "none", user: "u" });
    const stored = await client.chat.completions.retrieve(answered.id);
    const { _request_id: _, ...answer } = answered;
    expect(stored).toMatchObject({ ...answer, metadata, seed: 7, tools: [TOOL], tool_choice: "none", input_user: "u" });
    expect(stored).toMatchObject({ request_id: expect.stringMatching(/^req_/), top_p: 1, response_format: null });
    expect(await failure(stranger.chat.completions.retrieve(answered.id))).toMatchObject(missing);
    const unstored = await client.chat.completions.create({ ...CHAT, metadata });
    expect(await failure(client.chat.completions.retrieve(unstored.id))).toMatchObject(missing);
  });

  test("is durable before the last event of its stream", async () => {
    const stream = await client.chat.completions.create({ ...CHAT, store: true, stream: true });
    let [id, text] = ["", ""];
    for await (const chunk of stream) {
      id = chunk.id;
      text += chunk.choices[0]?.delta.content ?? "";
    }
    const stored = await client.chat.completions.retrieve(id);
    expect(stored.choices[0]).toMatchObject({ message: { content: text }, finish_reason: "length", logprobs: null });
  });

  test("is listed by model and metadata, paged, updated and deleted by its owner alone", async () => {
    const ids: string[] = [];
    for (const part of ["1", "2", "3"]) ids.push((await store({ metadata: { job: "list", part } })).id);
    const job = { metadata: { job: "list" }, model: "demo", limit: 2 };
    const listed = async (query: OpenAI.ChatCompletionListParams, by = client) => {
      const found: string[] = [];
      for await (const { id } of by.chat.completions.list(query)) found.push(id);
      return found;
    };
    expect(await listed(job)).toEqual(ids);
    expect(await listed({ ...job, order: "desc" })).toEqual(ids.toReversed());
    expect(await listed({ ...job, metadata: { job: "list", part: "2" } })).toEqual([ids[1]]);
    expect(await listed({ ...job, model: "other" })).toEqual([]);
    expect(await listed(job, stranger)).toEqual([]);
    const metadata = { job: "list", part: "9" };
    expect(await failure(stranger.chat.completions.update(ids[0]!, { metadata }))).toMatchObject(missing);
    expect(await client.chat.completions.update(ids[0]!, { metadata })).toMatchObject({ id: ids[0], metadata });
    expect(await listed({ ...job, metadata })).toEqual([ids[0]]);
    expect(await failure(stranger.chat.completions.delete(ids[0]!))).toMatchObject(missing);
    const deleted = { id: ids[0], object: "chat.completion.deleted", deleted: true };
    expect(await client.chat.completions.delete(ids[0]!)).toEqual(deleted);
    expect(await listed({ ...job, after: ids[0]! })).toEqual(ids.slice(1));
    expect(await failure(listed({ after: "chatcmpl-none" }))).toMatchObject({ status: 400, param: "after" });
  });

  test("lists the messages of its request", async () => {
    const parts = [
      { type: "text", text: "one" },
      { type: "text", text: "two" },
    ] as const;
    const { id } = await store({
      messages: [
        { role: "system", content: "Be brief.", name: "s" },
        { role: "user", content: parts },
      ],
    });
    const { data } = await client.chat.completions.messages.list(id, { limit: 1 });
    expect(data).toEqual([{ id: `${id}-0`, role: "system", content: "Be brief.", name: "s", content_parts: null }]);
    const all = await client.chat.completions.messages.list(id, { after: `${id}-0` });
    expect(all).toMatchObject({ data: [{ id: `${id}-1`, role: "user", content: "one\ntwo", content_parts: parts }] });
    expect(await failure(client.chat.completions.messages.list(id, { after: "x" }))).toMatchObject({ status: 400 });
    expect(await failure(stranger.chat.completions.messages.list(id))).toMatchObject(missing);
  });

  test("comes from a batch line too", async () => {
    const body = { ...CHAT, store: true, metadata: { job: "batch" } };
    const line = JSON.stringify({ custom_id: "a", method: "POST", url: "/v1/chat/completions", body });
    const { id } = await client.files.create({ file: await toFile(Buffer.from(line), "in.jsonl"), purpose: "batch" });
    const batch = await client.batches.create({
      input_file_id: id,
      endpoint: "/v1/chat/completions",
      completion_window: "24h",
    });
    await until("the batch to end", async () => (await client.batches.retrieve(batch.id)).status === "completed");
    const { data } = await client.chat.completions.list({ metadata: { job: "batch" } });
    expect(data).toMatchObject([{ model: "demo", request_id: null, metadata: { job: "batch" } }]);
  });
});

describe("a conversation", () => {
  test("is created, read, updated and deleted by its owner alone", async () => {
    const metadata = { topic: "t" };
    const made = await client.conversations.create({ metadata, items: [{ role: "user", content: "Hi" }] });
    expect(made).toEqual({ id: made.id, object: "conversation", created_at: expect.any(Number), metadata });
    expect(made.id).toMatch(/^conv_/);
    expect(await client.conversations.retrieve(made.id)).toEqual(made);
    expect(await failure(stranger.conversations.retrieve(made.id))).toMatchObject(missing);
    expect(await client.conversations.update(made.id, { metadata: {} })).toEqual({ ...made, metadata: {} });
    expect(await failure(stranger.conversations.delete(made.id))).toMatchObject(missing);
    const deleted = { id: made.id, object: "conversation.deleted", deleted: true };
    expect(await client.conversations.delete(made.id)).toEqual(deleted);
    expect(await failure(client.conversations.items.list(made.id))).toMatchObject(missing);
  });

  test("takes items in order and pages through them", async () => {
    const { id } = await client.conversations.create({});
    const call = { type: "function_call", call_id: "c", name: "f", arguments: "{}" } as const;
    const added = await client.conversations.items.create(id, {
      items: [{ role: "user", content: "Hi" }, call, { type: "function_call_output", call_id: "c", output: "1" }],
    });
    const message = {
      type: "message",
      role: "user",
      status: "completed",
      content: [{ type: "input_text", text: "Hi" }],
    };
    expect(added.data).toMatchObject([message, call, { type: "function_call_output", output: "1" }]);
    const ids = added.data.map((item) => item.id!);
    const listed: string[] = [];
    for await (const item of client.conversations.items.list(id, { limit: 2 })) listed.push(item.id!);
    expect(listed).toEqual(ids.toReversed());
    const of = { conversation_id: id };
    expect(await client.conversations.items.retrieve(ids[1]!, of)).toMatchObject(call);
    expect(await client.conversations.items.delete(ids[1]!, of)).toMatchObject({ id, object: "conversation" });
    expect(await failure(client.conversations.items.retrieve(ids[1]!, of))).toMatchObject(missing);
    expect(await failure(stranger.conversations.items.retrieve(ids[0]!, of))).toMatchObject(missing);
  });

  test.each([
    [[{ type: "item_reference", id: "msg_1" }], "items[0].type"],
    [[{ role: "tool", content: "x" }], "items[0].role"],
    [[{ role: "user", content: 1 }], "items[0].content"],
    [Array.from({ length: 21 }, () => ({ role: "user", content: "x" })), "items"],
  ])("refuses items with a fault at $1", async (items, param) => {
    const error = await failure(client.post("/conversations", { body: { items } }));
    expect(error).toMatchObject({ status: 400, param });
  });
});

test("an unknown response is 404 for every operation", async () => {
  const { responses } = client;
  const id = "resp_x";
  for (const call of [() => responses.retrieve(id), () => responses.delete(id), () => responses.cancel(id)]) {
    expect(await failure(call())).toMatchObject(missing);
  }
  expect(await failure(responses.inputItems.list("resp_x"))).toMatchObject(missing);
});

test("an export has every text once, in the same two parts each time, and only the owner's", async () => {
  const { client: exporter } = await keyed.key({ ...TERMS, owner: "exporter" });
  const ended = { ...CHAT, max_tokens: 60, store: true } as const;
  for (const content of ["Hello!", "Hello!", "How are you?", "Who are you?"]) {
    await exporter.chat.completions.create({
      ...ended,
      messages: [user(content)],
      metadata: { set: content.slice(0, 3) },
    });
  }
  await exporter.chat.completions.create({ ...ended, max_tokens: 1 });
  const lines = async (query: string, by = exporter) => {
    const response = await by.get(`/nightshift/export${query}`).asResponse();
    expect(response.headers.get("content-type")).toBe("application/jsonl");
    const sample = z.object({ messages: z.array(z.object({ role: z.string(), content: z.string() })) }).strict();
    const text = await response.text();
    return text
      .split("\n")
      .filter(Boolean)
      .map((line) => sample.parse(JSON.parse(line)).messages);
  };
  const all = await lines("");
  expect(all.map(([message]) => message?.content)).toEqual(["Hello!", "How are you?", "Who are you?"]);
  expect(all.map((messages) => messages.map(({ role }) => role))).toEqual(all.map(() => ["user", "assistant"]));
  const split = await Promise.all(["train", "validation"].map((part) => lines(`?split=${part}&validation_percent=50`)));
  expect(split.flat().map(String).sort()).toEqual(all.map(String).sort());
  const out = new PassThrough();
  const env = { NIGHTSHIFT_URL: keyed.server.origin, NIGHTSHIFT_API_KEY: exporter.apiKey ?? "" };
  const args = ["--metadata", "set=How", "--after", "2020-01-01"];
  await exportCommand(args, { env, stdout: out, stderr: { isTTY: false, write: () => true } });
  const written = z.string().parse(out.read()?.toString());
  expect(JSON.parse(written).messages).toEqual(all[1]);
  expect(await lines("?metadata[set]=How")).toHaveLength(1);
  expect(await lines("?finish_reason=length")).toHaveLength(1);
  expect(await lines("?model=other")).toEqual([]);
  expect(await lines("?created_before=1000")).toEqual([]);
  expect(await lines("?source=responses")).toEqual([]);
  expect(await lines("", stranger)).toEqual([]);
  expect(await failure(exporter.get("/nightshift/export?split=x"))).toMatchObject({ status: 400, param: "split" });
});

test("a completion beyond --max-stored is refused, and erasure removes what was stored", async () => {
  const { client: gone } = await keyed.key({ ...TERMS, owner: "gone" });
  for (let made = 0; made < 60; made++) await gone.conversations.create({});
  const refused = await failure(gone.chat.completions.create({ ...CHAT, store: true }));
  expect(refused).toMatchObject({ status: 507, code: "insufficient_storage" });
  await keyed.admin.delete("/nightshift/owners/gone");
  await until("the erasure to end", async () => (await keyed.owner("gone")).erasure === null);
  const { client: again } = await keyed.key({ ...TERMS, owner: "gone" });
  const { id } = await again.chat.completions.create({ ...CHAT, store: true });
  expect((await again.chat.completions.list()).data.map((stored) => stored.id)).toEqual([id]);
});
