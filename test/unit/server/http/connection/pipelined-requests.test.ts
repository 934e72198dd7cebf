import { once } from "node:events";
import { afterEach, beforeEach, expect, it, onTestFinished } from "vitest";
import { listen } from "../../../../../server/http/connection/listen.ts";
import { CHAT, startTestServer, type TestServer } from "../../test-server.ts";
import { openSocket, rawPost } from "../raw-socket.ts";
import { ANY_PORT } from "./any-port.ts";

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

it("a disconnect cancels all requests of the connection and frees their bodies", async () => {
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

it("invalid HTTP behind a pipelined request writes nothing into an open stream", async () => {
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

it("requests parsed after the end of their connection are ignored", async () => {
  const seen: (string | undefined)[] = [];
  const listening = await listen((req) => {
    seen.push(req.url);
    req.socket.destroy();
  }, ANY_PORT);
  onTestFinished(() => listening.close(0));
  const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
  const socket = await openSocket(listening.port, get("/first") + get("/second") + get("/third"));
  await once(socket.resume(), "close");
  expect(seen).toEqual(["/first"]);
});
