import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import OpenAI from "openai";
import { afterAll, beforeAll, expect, test } from "vitest";
import { responseObject } from "../../openapi/responses/response.ts";
import { openReceiver, type Received, SECRET } from "../faults/webhook-rig.ts";
import { checkResponseStream } from "../streams/response-stream.ts";
import { failure } from "./failure.ts";
import { HeldSteps } from "./held-steps.ts";
import { KeyedServer } from "./keyed.ts";
import { until } from "./until.ts";

type Fields = Partial<OpenAI.Responses.ResponseCreateParamsNonStreaming>;

const steps = new HeldSteps();
const folder = mkdtempSync(join(tmpdir(), "nightshift-config-"));
let hook: Awaited<ReturnType<typeof openReceiver>>;
let keyed: KeyedServer;
let client: OpenAI;
let stranger: OpenAI;
beforeAll(async () => {
  hook = await openReceiver((_, response) => response.writeHead(204).end());
  const events = ["response.completed", "response.incomplete", "response.failed", "response.cancelled"];
  const config = join(folder, "nightshift.yaml");
  writeFileSync(config, JSON.stringify({ webhooks: [{ url: hook.url, secret: SECRET, events }] }));
  keyed = await KeyedServer.startWith(steps.env, "--webhook-allow-private", "on", "--config", config);
  const terms = { scopes: ["inference", "batches"], tiers: ["default", "batch"] };
  ({ client } = await keyed.key(terms));
  ({ client: stranger } = await keyed.key({ ...terms, owner: "stranger" }));
});
afterAll(async () => {
  await keyed.server.stop();
  hook.close();
  rmSync(folder, { recursive: true });
});

const queue = (input: string, fields: Fields = {}) =>
  client.responses.create({ model: "demo", temperature: 0, background: true, input, ...fields });
const isOpen = ({ status }: OpenAI.Responses.Response) => status === "queued" || status === "in_progress";
const ended = async (id: string) => {
  let response = await client.responses.retrieve(id);
  await until(`${id} to end`, async () => {
    response = await client.responses.retrieve(id);
    return !isOpen(response);
  });
  return response;
};
/** The type of the webhook event of a response, once it came. */
const announced = async (id: string) => {
  const unwrapper = new OpenAI({ apiKey: "none", webhookSecret: SECRET });
  const own = () => hook.received.filter(({ body }) => body.includes(id));
  await until(`the webhook of ${id}`, () => own().length > 0);
  const [{ headers, body }] = own() as [Received];
  const { type, data } = await unwrapper.webhooks.unwrap(body, new Headers(headers as Record<string, string>));
  expect([data, own().length]).toEqual([{ id }, 1]);
  return type;
};

test("a background response is queued, polled to its end, announced, charged as a batch and continued", async () => {
  const metadata = { job: "a" };
  const queued = await queue("Capital of France?", { metadata, instructions: "Be brief." });
  expect(queued).toMatchObject({ status: "queued", background: true, store: true, output: [], usage: null, metadata });
  responseObject.parse(queued);
  const response = await ended(queued.id);
  expect(response).toMatchObject({
    id: queued.id,
    status: "completed",
    output_text: "The capital of France is Paris.",
  });
  expect(response).toMatchObject({ created_at: queued.created_at, metadata, nightshift: { tier: "batch" } });
  expect(response.usage!.output_tokens).toBeGreaterThan(0);
  responseObject.parse(response);
  expect(await announced(queued.id)).toBe("response.completed");
  const items = await client.responses.inputItems.list(queued.id);
  expect(items.data).toMatchObject([{ role: "user", content: [{ text: "Capital of France?" }] }]);

  const next = await queue("Capital of Norway?", { previous_response_id: queued.id, max_output_tokens: 3 });
  expect(await ended(next.id)).toMatchObject({ status: "incomplete", previous_response_id: queued.id });
  expect(await announced(next.id)).toBe("response.incomplete");
  const chain = await client.responses.inputItems.list(next.id, { order: "asc" });
  expect(chain.data.map(({ type }) => type)).toEqual(["message", "message", "message"]);
  const last = await client.responses.create({ model: "demo", input: "Hello!", previous_response_id: next.id });
  expect(last.previous_response_id).toBe(next.id);
  const all = { limit: 10 };
  expect((await client.batches.list(all)).data.map(({ endpoint }) => endpoint)).toContain("/v1/responses");
});

test("a cancelled response stays cancelled, and one that has ended is unchanged", async () => {
  steps.allow(0);
  const queued = await queue("Count from 1 to 20.");
  const previous = { model: "demo", input: "hi", previous_response_id: queued.id };
  expect(await failure(client.responses.create(previous))).toMatchObject({ status: 400 });
  expect(await failure(stranger.responses.retrieve(queued.id))).toMatchObject({ status: 404 });
  expect(await failure(stranger.responses.cancel(queued.id))).toMatchObject({ status: 404 });
  await until("the line to run", async () => (await client.responses.retrieve(queued.id)).status === "in_progress");
  for (let i = 0; i < 2; i++) {
    expect(await client.responses.cancel(queued.id)).toMatchObject({ id: queued.id, status: "cancelled", output: [] });
  }
  steps.release();
  expect(await announced(queued.id)).toBe("response.cancelled");
  const batch = queued.id.replace("resp_", "batch_");
  await until("its batch to end", async () => (await client.batches.retrieve(batch)).status === "cancelled");
  expect(await client.responses.retrieve(queued.id)).toMatchObject({ status: "cancelled", error: null });

  const done = await ended((await queue("Hello!")).id);
  expect(done).toMatchObject({ ...(await client.responses.cancel(done.id)) });
  const direct = await client.responses.create({ model: "demo", input: "Hello!" });
  expect(await failure(client.responses.cancel(direct.id))).toMatchObject({ status: 400 });
  const stream = client.responses.retrieve(done.id, { stream: true });
  expect(await failure(Promise.resolve(stream))).toMatchObject({ status: 400, param: "stream" });
});

test("a deleted response ends with its batch", async () => {
  steps.allow(0);
  const { id } = await queue("Count from 1 to 20.");
  expect(await failure(stranger.responses.delete(id))).toMatchObject({ status: 404 });
  await client.responses.delete(id);
  steps.release();
  expect(await failure(client.responses.retrieve(id))).toMatchObject({ status: 404 });
  const batch = id.replace("resp_", "batch_");
  await until("its batch to end", async () => (await client.batches.retrieve(batch)).status === "cancelled");
});

type Event = OpenAI.Responses.ResponseStreamEvent;
const streamed = (input: string, fields: object = {}) =>
  client.responses.create({ model: "demo", temperature: 0, background: true, stream: true, input, ...fields });
const collect = async (events: Promise<AsyncIterable<Event>>) => {
  const all: Event[] = [];
  for await (const event of await events) all.push(event);
  return all;
};
const idOf = ([first]: readonly Event[]) => (first?.type === "response.created" ? first.response.id : "none");

test("a streamed response goes on without its client, and its events are found again under their numbers", async () => {
  steps.allow(4);
  const seen: Event[] = [];
  for await (const event of await streamed("Count from 3 to 7.")) {
    seen.push(event);
    if (event.type === "response.output_text.delta") break;
  }
  expect(seen.map(({ type }) => type)).toEqual([
    "response.created",
    "response.queued",
    "response.in_progress",
    "response.output_item.added",
    "response.content_part.added",
    "response.output_text.delta",
  ]);
  const id = idOf(seen);
  expect(await client.responses.retrieve(id)).toMatchObject({ status: "in_progress", output: [] });
  const live = collect(client.responses.retrieve(id, { stream: true, starting_after: 3 }));
  const helper = client.responses.stream({ response_id: id, starting_after: 4 });
  const resumed: number[] = [];
  helper.on("event", ({ sequence_number }) => resumed.push(sequence_number));
  steps.release();
  const all = [...seen.slice(0, 4), ...(await live)];
  checkResponseStream(all.map((event) => ({ name: event.type, data: JSON.stringify(event) })));
  expect(all.slice(0, seen.length)).toEqual(seen);
  const response = await client.responses.retrieve(id);
  expect(response).toMatchObject({ status: "completed", output_text: "3, 4, 5, 6, 7" });
  const { output_text: _, ...sent } = response;
  expect(all.at(-1)).toMatchObject({ type: "response.completed", response: sent });
  expect((await helper.finalResponse()).output).toMatchObject(response.output);
  expect(resumed).toEqual(all.slice(5).map(({ sequence_number }) => sequence_number));
  const replayed = client.responses.retrieve(id, { stream: true });
  expect(await collect(replayed)).toEqual(all);
  const rest = client.responses.retrieve(id, { stream: true, starting_after: all.length - 2 });
  expect(await collect(rest)).toEqual(all.slice(-1));
});

test("a stream whose response is cancelled just ends, and one whose response fails ends with the reason", async () => {
  steps.allow(0);
  const events: Event[] = [];
  for await (const event of await streamed("Count from 1 to 20.")) {
    if (event.type === "response.queued") await client.responses.cancel(idOf(events));
    events.push(event);
  }
  expect(events.map(({ type }) => type).filter((type) => type !== "response.in_progress")).toEqual([
    "response.created",
    "response.queued",
  ]);
  steps.release();
  const failing = collect(streamed("Count from 3 to 12. ".repeat(500)));
  await expect(failing).rejects.toMatchObject({ code: "context_length_exceeded" });
  const [last] = (await client.batches.list({ limit: 1 })).data;
  const answer = client.responses.retrieve(last!.id.replace("batch_", "resp_"), { stream: true });
  const sent = await (await answer.asResponse()).text();
  expect(sent.match(/(?<=event: ).*/g)).toEqual(["response.created", "response.queued", "error", "response.failed"]);
});

test("a response in the background is the next turn of a conversation, which is locked until its end", async () => {
  const { id: conversation } = await client.conversations.create({ items: [{ role: "user", content: "Hello!" }] });
  const texts = async () => {
    const { data } = await client.conversations.items.list(conversation, { order: "asc" });
    return data.map((item) => (item.type === "message" && "text" in item.content[0]! ? item.content[0].text : null));
  };
  steps.allow(0);
  const queued = await queue("Capital of France?", { conversation });
  expect(queued).toMatchObject({ status: "queued", conversation: { id: conversation } });
  const locked = { status: 400, code: "conversation_locked", param: "conversation" };
  const asked = { model: "demo", input: "Hello!", conversation };
  for (const refused of [
    () => queue("Hello!", { conversation }),
    () => client.responses.create(asked),
    () => client.conversations.items.create(conversation, { items: [{ role: "user", content: "Hello!" }] }),
    () => client.conversations.delete(conversation),
  ]) {
    expect(await failure(refused())).toMatchObject(locked);
  }
  expect(await texts()).toEqual(["Hello!"]);
  steps.release();
  expect(await ended(queued.id)).toMatchObject({ status: "completed", conversation: { id: conversation } });
  const turn = ["Capital of France?", "The capital of France is Paris."];
  expect(await texts()).toEqual(["Hello!", ...turn]);

  steps.allow(0);
  const cancelled = await queue("Count from 1 to 20.", { conversation });
  await client.responses.cancel(cancelled.id);
  steps.release();
  const long = await queue("Count from 3 to 12. ".repeat(500), { conversation });
  expect(await ended(long.id)).toMatchObject({ status: "failed" });
  const items = await client.responses.inputItems.list(long.id);
  expect(items.data).toHaveLength(1);
  expect(await texts()).toEqual(["Hello!", ...turn]);
  expect((await client.responses.create(asked)).status).toBe("completed");
});

test("a response that its model can't take, or whose batch is cancelled, ends with the reason", async () => {
  const long = await queue("Count from 3 to 12. ".repeat(500));
  expect(await ended(long.id)).toMatchObject({ status: "failed", error: { code: "context_length_exceeded" } });
  expect(await announced(long.id)).toBe("response.failed");
  steps.allow(0);
  const { id } = await queue("Count from 1 to 20.");
  await client.batches.cancel(id.replace("resp_", "batch_"));
  // Its line may still end within 5 s while steps are computed.
  expect(await ended(id)).toMatchObject({ status: "cancelled" });
  steps.release();
});

test("a background response is refused for an unknown model, and for a key without tier batch", async () => {
  expect(await failure(queue("hi", { model: "none" }))).toMatchObject({ status: 404, code: "model_not_found" });
  const { client: online } = await keyed.key({ scopes: ["inference"], tiers: ["default"] });
  const asked = online.responses.create({ model: "demo", input: "hi", background: true });
  expect(await failure(asked)).toMatchObject({ status: 403, code: "tier_not_allowed" });
});
