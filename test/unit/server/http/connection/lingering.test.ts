import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { connect, type Socket } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import { ApiError } from "../../../../../openapi/api-error.ts";
import { type Listening, listen } from "../../../../../server/http/connection/listen.ts";
import { sendError } from "../../../../../server/http/respond.ts";
import { ANY_PORT } from "./any-port.ts";

const TOO_LARGE = new ApiError("request_too_large", "Too large.");

interface Upload {
  server: Listening;
  client: Socket;
  /** The request, as the server has it. */
  req: IncomingMessage;
  /** Refuses the request, whose body has not come. */
  refuse: () => void;
}

/** A request that has arrived but for its body. */
async function startUpload(): Promise<Upload> {
  let arrived: (pair: [IncomingMessage, ServerResponse]) => void = () => {};
  const request = new Promise<[IncomingMessage, ServerResponse]>((resolve) => {
    arrived = resolve;
  });
  const server = await listen((req, res) => arrived([req, res]), ANY_PORT);
  const client = connect(server.port, "127.0.0.1");
  onTestFinished(() => void client.destroy());
  client.on("error", () => {});
  client.write("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n");
  const [req, res] = await request;
  return { server, client, req, refuse: () => sendError(req, res, TOO_LARGE) };
}

/** No timer of the lingering or of the close fires: a connection that ends then was ended by the close itself. */
function stopTimers(): void {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
}

test("closing the listener ends a response whose refused body still trickles in", async () => {
  const { server, client, req, refuse } = await startUpload();
  stopTimers();
  const answered = once(client, "data") as Promise<[Buffer]>;
  refuse();
  expect(String((await answered)[0])).toMatch(/^HTTP\/1\.1 413 /);
  const before = req.socket.bytesRead;
  client.write("x");
  await vi.waitFor(() => expect(req.socket.bytesRead).toBe(before + 1), { timeout: 200_000 });
  await server.close(60_000);
});

test("a body that is refused while the listener closes is not discarded first", async () => {
  const { server, client, refuse } = await startUpload();
  stopTimers();
  const answered = once(client, "data") as Promise<[Buffer]>;
  const closed = server.close(60_000);
  refuse();
  expect(String((await answered)[0])).toMatch(/^HTTP\/1\.1 413 /);
  await closed;
});
