import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { afterEach, beforeEach, expect, it } from "vitest";
import { disconnectSignal } from "../../../../../server/http/connection/client-disconnect.ts";
import { CHAT, startTestServer, type TestServer } from "../../test-server.ts";
import { openSocket, rawPost } from "../raw-socket.ts";

const PATH = "/v1/chat/completions";
let server: TestServer;
beforeEach(async () => {
  server = await startTestServer({}, { streamBuffer: 256 * 1024, stallMs: 60_000 });
});
afterEach(() => server.close());

async function metric(line: string): Promise<number> {
  const text = await server.metrics.registry.metrics();
  return Number(
    text
      .split("\n")
      .find((candidate) => candidate.startsWith(line))
      ?.split(" ")
      .at(-1) ?? Number.NaN,
  );
}
const cancelled =
  'nightshift_requests_total{model="demo",endpoint="/v1/chat/completions",tier="default",status="cancelled"}';

it.each([
  ["a stream that has begun", { stream: true }, true],
  ["a stream that waits", { stream: true }, false],
  ["a request that is not streamed", {}, true],
])("a client that leaves %s cancels it at once and frees its place", async (_name, fields, begun) => {
  const submitted = server.engine.next();
  const leave = new AbortController();
  const response = server.post(PATH, { ...CHAT, ...fields }, { signal: leave.signal }).catch(() => null);
  const request = await submitted;
  if (begun) request.begin().say("a");
  if (begun && "stream" in fields) await response;
  leave.abort();
  await request.whenCancelled;
  await expect.poll(() => metric(cancelled)).toBe(1);
  expect(await metric('nightshift_requests_running{model="demo"}')).toBe(0);
  expect(await metric('nightshift_requests_waiting{model="demo"}')).toBe(0);
});

it("the signal of a client that has already disconnected is aborted at once", () => {
  const response = new ServerResponse(new IncomingMessage(new Socket()));
  expect(disconnectSignal(response).aborted).toBe(false);
  response.destroy();
  expect(disconnectSignal(response).aborted).toBe(true);
});

it("a client that disconnects during its body affects no other request", async () => {
  const socket = await openSocket(
    server.port,
    rawPost(PATH, ["Content-Type: application/json", "Content-Length: 100"], "{"),
  );
  socket.destroy();
  const unread = 'requests_total{model="",endpoint="/v1/chat/completions",tier="default",status="cancelled"}';
  await expect.poll(() => metric(`nightshift_${unread}`)).toBe(1);
  expect((await fetch(`${server.url}/health`)).status).toBe(200);
});

it("a stalled reader is dropped when its buffer is full, and other streams continue", async () => {
  const body = JSON.stringify({ ...CHAT, stream: true });
  const first = server.engine.next();
  const stuck = await openSocket(
    server.port,
    rawPost(PATH, ["Content-Type: application/json", `Content-Length: ${body.length}`], body),
  );
  stuck.pause();
  const slow = (await first).begin();
  const second = server.engine.next();
  const response = server.post(PATH, { ...CHAT, stream: true });
  const other = (await second).begin().say("start");
  const text = "x".repeat(64 * 1024);
  // Far more than the kernel and the bound take together.
  for (let i = 0; i < 1000 && !slow.cancelled; i++) {
    slow.say(text);
    await new Promise(setImmediate);
  }
  expect(slow.cancelled).toBe(true);
  other.say(" end").finish();
  expect(await (await response).text()).toMatch(/start[\s\S]* end[\s\S]*\[DONE\]/);
  stuck.destroy();
});

it("a reader of a stream that stalls is dropped after the stall time", async () => {
  const stallServer = await startTestServer({}, { streamBuffer: 1 << 30, stallMs: 200 });
  const body = JSON.stringify({ ...CHAT, stream: true });
  const submitted = stallServer.engine.next();
  const stuck = await openSocket(
    stallServer.port,
    rawPost(PATH, ["Content-Type: application/json", `Content-Length: ${body.length}`], body),
  );
  stuck.pause();
  const request = (await submitted).begin();
  // More than the kernel's buffers take.
  request.say("y".repeat(32 * 1024 * 1024));
  await request.whenCancelled;
  stuck.destroy();
  await stallServer.close();
});

it("an unread body is dropped after the stall time", async () => {
  const stallServer = await startTestServer({}, { stallMs: 200 });
  const submitted = stallServer.engine.next();
  const body = JSON.stringify(CHAT);
  const stuck = await openSocket(
    stallServer.port,
    rawPost(PATH, ["Content-Type: application/json", `Content-Length: ${body.length}`], body),
  );
  stuck.pause();
  (await submitted)
    .begin()
    .say("y".repeat(32 * 1024 * 1024))
    .finish();
  // Only a dropped connection lets the server close within such a grace.
  await stallServer.close(60_000);
  stuck.destroy();
});

it("a slow and steady reader receives the whole answer", async () => {
  const stallMs = 2000;
  const stallServer = await startTestServer({}, { stallMs });
  const submitted = stallServer.engine.next();
  const body = JSON.stringify(CHAT);
  const slow = await openSocket(
    stallServer.port,
    rawPost(PATH, ["Content-Type: application/json", "Connection: close", `Content-Length: ${body.length}`], body),
  );
  slow.pause();
  const text = "z".repeat(32 * 1024 * 1024);
  (await submitted).begin().say(text).finish();
  const begun = performance.now();
  let read = 0;
  const over = new Promise((resolve) => slow.once("close", resolve));
  slow.on("data", (chunk: Buffer) => {
    read += chunk.length;
    slow.pause();
  });
  // A piece at a time until far more than the stall time has passed, then the rest.
  const reading = setInterval(() => {
    slow.resume();
    if (performance.now() - begun > 2 * stallMs)
      slow.removeAllListeners("data").on("data", (chunk) => {
        read += chunk.length;
      });
  }, 5);
  await over;
  clearInterval(reading);
  expect(read).toBeGreaterThan(text.length);
  await stallServer.close();
});
