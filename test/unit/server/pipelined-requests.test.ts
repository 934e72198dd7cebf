import { once } from "node:events";
import { afterEach, beforeEach, expect, it } from "vitest";
import { openSocket, rawPost } from "./raw-socket.ts";
import { CHAT, startTestServer, type TestServer } from "./test-server.ts";

const PATH = "/v1/chat/completions";
let server: TestServer;
beforeEach(async () => {
  server = await startTestServer({ bodyMemory: 1024 * 1024 });
});
afterEach(() => server.close());

function request(fields: object): string {
  const text = JSON.stringify({ ...CHAT, ...fields });
  return rawPost(PATH, ["Content-Type: application/json", `Content-Length: ${text.length}`], text);
}

it("a client that leaves cancels all requests of its connection, and their bodies are given back", async () => {
  const submitted = [server.engine.next(), server.engine.next(), server.engine.next()];
  const socket = await openSocket(server.port, request({ padding: "x".repeat(256 * 1024) }).repeat(3));
  const requests = await Promise.all(submitted);
  socket.destroy();
  for (const { whenCancelled } of requests) await whenCancelled;
  const next = server.engine.next();
  const answer = server.post(PATH, { ...CHAT, padding: "x".repeat(900 * 1024) });
  (await next).begin().say("a").finish();
  expect((await answer).status).toBe(200);
});

it("what is no HTTP, behind a request that waits for a stream's end, is answered by nothing in that stream", async () => {
  const submitted = [server.engine.next(), server.engine.next()];
  const socket = await openSocket(server.port, request({ stream: true }) + request({}));
  let received = "";
  socket.setEncoding("utf8").on("data", (text: string) => {
    received += text;
  });
  const [first] = await Promise.all(submitted);
  first?.begin().say("a");
  await expect.poll(() => received).toContain('"a"');
  socket.write("no HTTP\r\n\r\n");
  await once(socket, "close");
  expect(received).not.toContain("malformed_request");
});
