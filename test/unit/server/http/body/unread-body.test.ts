import { afterEach, beforeEach, expect, it } from "vitest";
import { CHAT, startTestServer, type TestServer } from "../../test-server.ts";
import { exchange, openSocket, rawPost } from "../raw-socket.ts";

const PATH = "/v1/chat/completions";
const LARGE = { ...CHAT, messages: [{ role: "user", content: "x".repeat(100_000) }] };

let server: TestServer;
beforeEach(async () => {
  server = await startTestServer({ queueLimit: 1 });
});
afterEach(() => server.close());

/** One request that waits: as many as may. */
async function fillQueue(): Promise<void> {
  const waiting = server.engine.next();
  void server.post(PATH, CHAT).catch(() => {});
  await waiting;
}

/** The answer to the head of a request whose body is never sent. */
function answerToHead(...headers: string[]): Promise<string> {
  const all = ["Content-Type: application/json", "Connection: close", ...headers];
  return exchange(server.port, rawPost(PATH, all));
}

it.each([
  ["with its length said", ["Content-Length: 100000", "Expect: 100-continue"]],
  ["in chunks", ["Transfer-Encoding: chunked", "Expect: 100-continue"]],
])("a large body %s is refused unread while the queue is full, and asked for when it is not", async (_how, headers) => {
  await fillQueue();
  const refused = await answerToHead(...headers);
  expect(refused).not.toContain("demo");
  expect(refused).toMatch(/^HTTP\/1.1 503 [\s\S]*Retry-After[\s\S]*server_is_overloaded/i);
  server.engine.requests[0]!.begin().say("a").finish();
  const answered = async () => {
    const socket = await openSocket(server.port, rawPost(PATH, ["Content-Type: application/json", ...headers]));
    const response = await new Promise<string>((resolve) => socket.once("data", (chunk) => resolve(String(chunk))));
    socket.destroy();
    return response;
  };
  await expect.poll(answered).toMatch(/^HTTP\/1.1 100 Continue/);
});

it("a small body is read: an unknown model is a 404", async () => {
  await fillQueue();
  expect((await server.post(PATH, { ...CHAT, model: "other" })).status).toBe(404);
  expect((await server.post(PATH, CHAT)).status).toBe(503);
  expect((await server.post(PATH, { ...LARGE, model: "other" })).status).toBe(503);
});

it("a large body with Prefer: respond-async is read and becomes a job", async () => {
  await fillQueue();
  const init = { headers: { "content-type": "application/json", prefer: "respond-async" } };
  expect((await server.post(PATH, LARGE, init)).status).toBe(202);
});

it("a large body is refused unread while the server ends or the model restarts", async () => {
  server.engine.state = { name: "restarting", reason: "it died", retryInMs: 1000 };
  expect(await answerToHead("Content-Length: 100000", "Expect: 100-continue")).toMatch(/ 503 [\s\S]*engine_restarting/);
  server.state.draining = true;
  expect(await answerToHead("Content-Length: 100000", "Expect: 100-continue")).toMatch(
    / 503 [\s\S]*server_shutting_down/,
  );
});
