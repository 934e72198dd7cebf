import type OpenAI from "openai";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { complete, stream } from "../api/ask.ts";
import type { SeenRequest } from "./seen-request.ts";
import { ServedFakes } from "./served.ts";

const CHAT = "/v1/chat/completions";

let served: ServedFakes;
let client: OpenAI;
beforeAll(async () => {
  served = await ServedFakes.start({ m: {}, queued: { slots: 1 } });
  client = served.server.client;
});
afterAll(() => served.stop());
beforeEach(() => served.reset());

/** A client that leaves as soon as the upstream has this many of its requests in the state of `when`. */
async function leaves(model: string, streamed: boolean, seen: () => Promise<SeenRequest>): Promise<SeenRequest> {
  const abort = new AbortController();
  const messages = [{ role: "user" as const, content: "a b c" }];
  const body = { model, messages, stream: streamed };
  const answer = client.chat.completions.create(body as OpenAI.ChatCompletionCreateParamsNonStreaming, {
    signal: abort.signal,
  });
  const settled = answer.then(
    () => "an answer",
    () => "aborted",
  );
  const request = await seen();
  abort.abort();
  // A stream whose head has come is resolved; its connection is closed in any case.
  await settled;
  return request;
}

test.each([true, false])("before the headers closes the connection; streamed: %s", async (streamed) => {
  const fake = served.fake("m");
  fake.script = () => ({ kind: "stall", after: "headers" });
  const seen = await leaves("m", streamed, () => fake.arrival(CHAT));
  expect(await seen.closed).toBe("aborted");
  expect(seen.tokens).toBe(0);
});

test.each([true, false])("in decode closes the connection; streamed: %s", async (streamed) => {
  const fake = served.fake("m");
  fake.script = () => ({ kind: "stall", after: 2 });
  const seen = await leaves("m", streamed, async () => {
    const request = await fake.arrival(CHAT);
    await expect.poll(() => request.tokens).toBeGreaterThanOrEqual(2);
    return request;
  });
  expect(await seen.closed).toBe("aborted");
});

test.each([true, false])("in the upstream's queue takes the request out of it; streamed: %s", async (streamed) => {
  const fake = served.fake("queued");
  fake.script = () => (fake.seen(CHAT).length === 1 ? { kind: "stall", after: 1 } : null);
  const first = new AbortController();
  const messages = [{ role: "user" as const, content: "x y" }];
  const running = client.chat.completions
    .create({ model: "queued", messages }, { signal: first.signal })
    .catch(() => "left");
  await fake.arrival(CHAT);
  const seen = await leaves("queued", streamed, () => fake.arrival(CHAT, 1));
  expect(await seen.closed).toBe("aborted");
  expect(seen.tokens).toBe(0);
  first.abort();
  expect(await running).toBe("left");
});

test("in the middle of a stream is charged by what it has seen, and counts as cancelled", async () => {
  const fake = served.fake("m");
  fake.script = () => ({ kind: "stall", after: 2 });
  const before = (await served.server.metrics()).sum("nightshift_requests_total", { status: "cancelled" });
  const chunks = (await stream(client, "a b c", { model: "m" }))[Symbol.asyncIterator]();
  await chunks.next();
  await chunks.next();
  await chunks.return?.();
  expect(await fake.seen(CHAT)[0]!.closed).toBe("aborted");
  await served.server.reaches("nightshift_requests_total", before + 1, { status: "cancelled" });
  await served.server.idle();
  const metrics = await served.server.metrics();
  expect(metrics.sum("nightshift_upstream_inflight", { upstream: "m" })).toBe(0);
  expect(metrics.sum("nightshift_upstream_requests_total", { upstream: "m", status: "cancelled" })).toBeGreaterThan(0);
});

test("with an embedding closes the connection", async () => {
  const fake = served.fake("m");
  fake.script = () => ({ kind: "stall", after: "headers" });
  const abort = new AbortController();
  const answer = client.embeddings.create({ model: "m", input: "a" }, { signal: abort.signal }).catch(() => "left");
  const seen = await fake.arrival("/v1/embeddings");
  abort.abort();
  expect(await answer).toBe("left");
  expect(await seen.closed).toBe("aborted");
});

test("does not open the breaker, however many leave", async () => {
  const fake = served.fake("m");
  fake.script = () => ({ kind: "stall", after: "headers" });
  for (let i = 0; i < 6; i++) {
    const seen = await leaves("m", false, () => fake.arrival(CHAT, i));
    expect(await seen.closed).toBe("aborted");
  }
  fake.script = () => null;
  expect((await complete(client, "a", { model: "m" })).choices[0]!.message.content).toBe("a");
});
