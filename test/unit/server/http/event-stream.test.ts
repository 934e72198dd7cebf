import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { EventStream } from "../../../../server/http/event-stream.ts";
import { startTestServer, type TestServer } from "../test-server.ts";
import { openSocket } from "./raw-socket.ts";

const SILENCE_MS = 15_000;
const BUFFER = 1024 * 1024;
const turn = () => new Promise(setImmediate);

describe("a stream", () => {
  const server = createServer();
  let client: Socket;
  let res: ServerResponse;
  let stream: EventStream;
  /** The texts that were written, the head excepted. */
  let written: string[];
  beforeEach(async () => {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const requested = new Promise<ServerResponse>((resolve) =>
      server.once("request", (_, response) => resolve(response)),
    );
    client = await openSocket((server.address() as AddressInfo).port, "GET / HTTP/1.0\r\n\r\n");
    client.pause();
    res = await requested;
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    written = [];
    const write = res.write.bind(res);
    vi.spyOn(res, "write").mockImplementation((chunk: unknown) => {
      written.push(String(chunk));
      return write(chunk);
    });
    const bounds = { buffer: BUFFER, stallMs: 1 << 30, silenceMs: SILENCE_MS };
    const options = { type: "text/event-stream", ...bounds, keepAlive: () => ": k\n\n" };
    stream = new EventStream(
      res,
      options,
      () => {},
      () => {},
    );
  });
  afterEach(async () => {
    vi.useRealTimers();
    client.destroy();
    await new Promise((resolve) => server.close(resolve));
  });

  async function push(events: string): Promise<void> {
    stream.push(events);
    await turn();
  }

  /** Time passes, and what it brings is written. */
  async function wait(ms: number): Promise<void> {
    vi.advanceTimersByTime(ms);
    await turn();
  }

  it("gets an event without content after each silence, and none before", async () => {
    await push("a\n\n");
    await wait(SILENCE_MS - 1);
    await push("b\n\n");
    await wait(SILENCE_MS - 1);
    expect(written).toEqual(["a\n\n", "b\n\n"]);
    await wait(1);
    await wait(SILENCE_MS);
    expect(written).toEqual(["a\n\n", "b\n\n", ": k\n\n", ": k\n\n"]);
  });

  it("gets nothing before its first event", async () => {
    await wait(10 * SILENCE_MS);
    expect([written, res.headersSent]).toEqual([[], false]);
  });

  it("gets nothing after its last event", async () => {
    await push("a\n\n");
    stream.end("z\n\n");
    await turn();
    await wait(10 * SILENCE_MS);
    expect(written).toEqual(["a\n\n"]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("gets nothing that its reader leaves unread", async () => {
    // More than the kernel's buffers take.
    await push("y".repeat(32 * 1024 * 1024));
    await wait(10 * SILENCE_MS);
    expect(written).toHaveLength(1);
    const drained = new Promise((resolve) => res.once("drain", resolve));
    client.resume();
    await drained;
    await wait(SILENCE_MS);
    expect(written.at(-1)).toBe(": k\n\n");
  });

  it("is whole for its reader, also where events are larger than the buffer", async () => {
    const last = "z".repeat(8 * BUFFER);
    await push("a\n\n");
    stream.end(last);
    await turn();
    client.resume();
    expect((await text(client)).endsWith(`a\n\n${last}`)).toBe(true);
  });

  it("ends where its reader leaves more than the buffer unread", async () => {
    await push("y".repeat(32 * BUFFER));
    expect(res.destroyed).toBe(false);
    await push("z");
    expect([res.destroyed, written]).toEqual([true, [expect.any(String)]]);
  });
});

describe("the event without content", () => {
  let server: TestServer;
  beforeEach(async () => {
    server = await startTestServer({}, { silenceMs: 10 });
  });
  afterEach(() => server.close());

  const messages = [{ role: "user", content: "Hi" }];
  it.each<[string, object, string]>([
    ["/v1/chat/completions", { messages }, ": keep-alive\n\n"],
    ["/v1/completions", { prompt: "Hi" }, ": keep-alive\n\n"],
    ["/v1/responses", { input: "Hi" }, ": keep-alive\n\n"],
    ["/v1/messages", { messages, max_tokens: 9 }, 'event: ping\ndata: {"type":"ping"}\n\n'],
    ["/api/chat", { messages }, '"message":{"role":"assistant","content":""},"done":false}\n'],
    ["/api/generate", { prompt: "Hi" }, '"response":"","done":false}\n'],
  ])("of %s with %j is %j", async (path, fields, keepAlive) => {
    const submitted = server.engine.next();
    const response = server.post(path, { model: "demo", stream: true, ...fields });
    const request = (await submitted).begin().say("first");
    let text = "";
    for await (const piece of (await response).body!.pipeThrough(new TextDecoderStream())) {
      text += piece;
      const [, behind] = text.split("first");
      if (!request.ended && behind?.includes(keepAlive)) request.say("last").finish();
    }
    expect(text).toMatch(/first[\s\S]*last/);
  });
});
