import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { readdirSync, rmSync, statSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { until } from "../api/until.ts";
import { openSocket } from "../unit/server/http/raw-socket.ts";
import { startTestServer, type TestServer } from "../unit/server/test-server.ts";

/** Milliseconds for bodies that are not forms: less than the half minute after which a form's rate is checked. */
const BODY_MS = 10_000;
/** Milliseconds of real time, as the kernel takes part; opening the file must be faster. */
const STALL_MS = 2000;

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({}, { stallMs: STALL_MS, requestTimeoutMs: BODY_MS });
});
afterAll(() => server.close());
afterEach(() => {
  vi.useRealTimers();
});

const HEAD = [
  "POST /v1/files HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; boundary=X\r\n",
  "Content-Length: 1000000\r\n\r\n",
  '--X\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n\r\nthe beginning',
].join("");

/** Resolves when the server has closed the connection of its next response. */
function nextAnswerClosed(): Promise<void> {
  return new Promise((resolve) => {
    const begun = (message: unknown) => {
      unsubscribe("http.server.request.start", begun);
      (message as { response: ServerResponse }).response.once("close", resolve);
    };
    subscribe("http.server.request.start", begun);
  });
}

const tmp = () => readdirSync(join(server.dataDir, "tmp")).map((name) => join(server.dataDir, "tmp", name));

async function upload(bytes: number): Promise<string> {
  const body = new FormData();
  body.set("purpose", "user_data");
  body.set("file", new Blob([Buffer.alloc(bytes)]), "x");
  const response = await fetch(`${server.url}/v1/files`, { method: "POST", body });
  return ((await response.json()) as { id: string }).id;
}

test("a file may take longer than other bodies, above a minimum rate", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "setTimeout", "clearTimeout"] });
  const socket = await openSocket(server.port, HEAD);
  let answer = "";
  socket.on("data", (data: Buffer) => {
    answer += data.toString();
  });
  await until("the file on its way", () => tmp().length === 1);
  await vi.advanceTimersByTimeAsync(2 * BODY_MS);
  for (let i = 1; i <= 3; i++) {
    socket.write(Buffer.alloc(40_000));
    // The parser keeps a few bytes, which may be the beginning of the boundary.
    await until("40 kB to arrive", () => statSync(tmp()[0]!).size > i * 40_000 - 100);
    await vi.advanceTimersByTimeAsync(30_000);
  }
  expect(answer).toBe("");
  socket.write("x");
  await vi.advanceTimersByTimeAsync(30_000);
  await until("an answer", () => answer !== "");
  expect(answer).toMatch(/^HTTP\/1.1 408 [\s\S]*"code":"request_timeout"/);
  await until("tmp to be empty", () => tmp().length === 0);
  socket.destroy();
});

test("a client that does not read a download is disconnected", async () => {
  const id = await upload(30_000_000);
  const dropped = nextAnswerClosed();
  const socket = connect({ port: server.port, host: "127.0.0.1" });
  socket.on("error", () => {});
  socket.write(`GET /v1/files/${id}/content HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
  const closed = once(socket, "close");
  await dropped;
  let received = 0;
  socket.on("data", (data: Buffer) => {
    received += data.byteLength;
  });
  await closed;
  // At most the content of the two kernels' buffers.
  expect(received).toBeGreaterThan(0);
  expect(received).toBeLessThan(30_000_000);
});

test("a file that was removed from the disk is a server error", async () => {
  const id = await upload(10);
  rmSync(join(server.dataDir, "files", id));
  const response = await fetch(`${server.url}/v1/files/${id}/content`);
  expect(response.status).toBe(500);
  expect(await response.json()).toMatchObject({ error: { type: "server_error", code: "internal_error" } });
});
