import { createServer } from "node:http";
import { createParser } from "eventsource-parser";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { chatChunk, chatResponse } from "../../../../../openapi/generation/chat.ts";
import { ChatChunks } from "../../../../../server/dialects/chat-response.ts";
import { StreamSink } from "../../../../../server/generation/output/stream-sink.ts";
import { EventStream } from "../../../../../server/http/event-stream.ts";
import { saying } from "../../fake-engine.ts";
import { CHAT, startTestServer, type TestServer } from "../../test-server.ts";

const USAGE = {
  prompt_tokens: 1,
  completion_tokens: 1,
  total_tokens: 2,
  prompt_tokens_details: { cached_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 0 },
};

function readEvents(text: string): string[] {
  const events: string[] = [];
  createParser({ onEvent: ({ data }) => void events.push(data) }).feed(text);
  return events;
}

/** Writes pieces through the real writer over HTTP; `turns` of the event loop between them. */
async function roundTrip(pieces: { text: string; thought: boolean; turn: boolean }[]): Promise<string[]> {
  const server = createServer(async (_req, res) => {
    const stream = new EventStream(
      res,
      { type: "text/event-stream", buffer: 1 << 24, stallMs: 30_000, silenceMs: 30_000, keepAlive: () => "" },
      () => {},
      () => {},
    );
    const identity = { id: "chatcmpl-1", created: 1, model: "demo", tier: "default" as const, fingerprint: "fp" };
    const sink = new StreamSink(stream, new ChatChunks(identity, true));
    for (const { text, thought, turn } of pieces) {
      const output = { id: 1, index: 0, tokens: 1, finish: null };
      sink.output(0, { ...output, text: thought ? "" : text, reasoning: thought ? text : "" });
      if (turn) await new Promise(setImmediate);
    }
    const finish = { reason: "stop" as const, stop: null, completionTokens: 1, reasoningTokens: 0 };
    sink.output(0, { id: 1, index: 0, text: "", reasoning: "", tokens: 0, finish });
    sink.complete({ usage: USAGE, times: { queue: 0, prefill: 0, decode: 0 } });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const response = await fetch(`http://127.0.0.1:${port}/`);
  const text = await response.text();
  await new Promise((resolve) => server.close(resolve));
  return readEvents(text);
}

/** Any UTF-16: halves of pairs, line ends and what looks like an event's end included. */
const anyText = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 8 }).map((units) => String.fromCharCode(...units)),
  fc.constantFrom("\n\n", "\r\n", "data: [DONE]\n\n", "\u2028", "\ud83d", '"', "\\", "\0"),
);

describe("the stream writer", () => {
  it("streams every text unchanged, however it is split", async () => {
    const piece = fc.record({ text: anyText, thought: fc.boolean(), turn: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 12 }), async (pieces) => {
        const events = await roundTrip(pieces);
        expect(events.at(-1)).toBe("[DONE]");
        const chunks = events.slice(0, -1).map((data) => chatChunk.parse(JSON.parse(data)));
        const deltas = chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta));
        const join = (texts: (string | undefined)[]) => texts.map((text) => text ?? "").join("");
        const sent = (thought: boolean) => join(pieces.map((p) => (p.thought === thought ? p.text : "")));
        expect(join(deltas.map(({ content }) => content))).toBe(sent(false));
        expect(join(deltas.map(({ reasoning_content }) => reasoning_content))).toBe(sent(true));
        expect(deltas[0]).toEqual({ role: "assistant", content: "" });
        expect(chunks.at(-1)).toMatchObject({ choices: [], usage: USAGE });
      }),
      { numRuns: 60 },
    );
  });
});

describe("streaming and not streaming", () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startTestServer();
  });
  afterAll(() => server.close());

  it("give equal choices", async () => {
    const unbroken = fc.string({ unit: "binary" });
    await fc.assert(
      fc.asyncProperty(fc.array(unbroken, { maxLength: 6 }), fc.integer({ min: 1, max: 3 }), async (pieces, n) => {
        server.engine.script = saying(...pieces);
        const whole = chatResponse.parse(await (await server.post("/v1/chat/completions", { ...CHAT, n })).json());
        const streamed = await (await server.post("/v1/chat/completions", { ...CHAT, n, stream: true })).text();
        const texts = Array.from({ length: n }, () => "");
        for (const data of readEvents(streamed).slice(0, -1)) {
          for (const { index, delta } of chatChunk.parse(JSON.parse(data)).choices) texts[index] += delta.content ?? "";
        }
        expect(whole.choices.map(({ message }) => message.content)).toEqual(texts);
      }),
      { numRuns: 30 },
    );
  });
});
