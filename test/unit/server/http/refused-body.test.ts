import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import { ApiError } from "../../../../openapi/api-error.ts";
import { BodyMemory } from "../../../../server/http/context/body-memory.ts";
import { requestContext } from "../../../../server/http/context/request-context.ts";
import { sendError } from "../../../../server/http/respond.ts";

const BODY_BYTES = 1024 * 1024;
const CHUNK = Buffer.alloc(BODY_BYTES / 8);
const TOO_LARGE = new ApiError("request_too_large", "Too large.");

/** A client that has the answer to a body of which it has sent nothing yet. Timers go by `vi` from then on. */
async function refused(): Promise<{ client: Socket; bytesRead: () => number; closed: () => boolean }> {
  let closed = false;
  let socket: Socket | undefined;
  const server = createServer((req, res) => {
    socket = req.socket;
    res.once("close", () => {
      closed = true;
    });
    requestContext({ now: () => 0, epochMs: () => 0 }, () => "1", new BodyMemory(0))(
      req as never,
      res as never,
      () => {},
    );
    sendError(req, res, TOO_LARGE);
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const client = connect((server.address() as AddressInfo).port, "127.0.0.1");
  onTestFinished(() => void client.destroy());
  client.write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${BODY_BYTES}\r\n\r\n`);
  const [answer] = (await once(client, "data")) as [Buffer];
  expect(answer.toString()).toMatch(/^HTTP\/1\.1 413 /);
  return { client, bytesRead: () => socket?.bytesRead ?? 0, closed: () => closed };
}

async function send(client: Socket, bytesRead: () => number): Promise<void> {
  const before = bytesRead();
  client.write(CHUNK);
  await vi.waitFor(() => expect(bytesRead()).toBe(before + CHUNK.length), { timeout: 200_000 });
}

test("a refused body that arrives slowly is discarded before the connection closes", async () => {
  const { client, bytesRead, closed } = await refused();
  const end = once(client, "end");
  for (let i = 0; i < 8; i++) {
    expect(closed()).toBe(false);
    vi.advanceTimersByTime(3000);
    await send(client, bytesRead);
  }
  await end;
});

test("a refused body that stops arriving ends the connection", async () => {
  const { client, bytesRead, closed } = await refused();
  await send(client, bytesRead);
  vi.advanceTimersByTime(4999);
  expect(closed()).toBe(false);
  const end = once(client, "end");
  vi.advanceTimersByTime(1);
  await end;
});

test("a refused body is discarded for at most 30 s", async () => {
  const { client, bytesRead } = await refused();
  const end = once(client, "end");
  for (let i = 0; i < 7; i++) {
    vi.advanceTimersByTime(4000);
    await send(client, bytesRead);
  }
  vi.advanceTimersByTime(2000);
  await end;
});
