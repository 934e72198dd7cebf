import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readEvents, type UpstreamEvent } from "../../../../../engine/upstream/answer/event-reader.ts";

async function* bytesOf(...chunks: (string | Uint8Array)[]): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) yield typeof chunk === "string" ? Buffer.from(chunk) : chunk;
}

/** The data of the events; "end" for the mark of the end. */
async function read(body: AsyncIterable<Uint8Array>): Promise<unknown[]> {
  const events: UpstreamEvent[] = [];
  for await (const list of readEvents(body)) events.push(...list);
  return events.map((event) => (event.done ? "end" : event.data));
}

/** The text in pieces of the given lengths, over and over. */
function pieces(text: string, lengths: readonly number[]): Uint8Array[] {
  const bytes = Buffer.from(text);
  const parts: Uint8Array[] = [];
  for (let from = 0, nth = 0; from < bytes.length; nth++) {
    const to = from + lengths[nth % lengths.length]!;
    parts.push(bytes.subarray(from, to));
    from = to;
  }
  return parts;
}

/** Counts what is read of an endless body. */
function endless(chunk: Uint8Array) {
  const count = { chunks: 0, closed: false };
  async function* body(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        count.chunks++;
        yield chunk;
      }
    } finally {
      count.closed = true;
    }
  }
  return { count, body: body() };
}

describe("events of a body", () => {
  it("are the same however the bytes are cut, with any line ends", async () => {
    const texts = fc.array(fc.string({ unit: "grapheme", maxLength: 20 }), { maxLength: 8 });
    const lengths = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(texts, lengths, fc.constantFrom("\n", "\r\n"), async (contents, cuts, end) => {
        const lines = contents.flatMap((text) => [": a comment", `data: ${JSON.stringify({ text })}`, ""]);
        const body = [...lines, "data: [DONE]", "", ""].join(end);
        expect(await read(bytesOf(...pieces(body, cuts)))).toEqual([...contents.map((text) => ({ text })), "end"]);
      }),
    );
  });

  it("end with the body where the last has no empty line, and no mark of the end", async () => {
    expect(await read(bytesOf('data: {"a":1}\n\ndata: {"b":2}'))).toEqual([{ a: 1 }, { b: 2 }]);
    expect(await read(bytesOf('data: {"a":1}\n\ndata: [DONE]'))).toEqual([{ a: 1 }, "end"]);
    expect(await read(bytesOf())).toEqual([]);
  });

  it("may lie on several lines, have names, and no space behind the colon", async () => {
    expect(await read(bytesOf('event: x\ndata:{"a":\ndata: 1}\nid: 7\nretry: 5\nunknown: y\n\n'))).toEqual([{ a: 1 }]);
  });

  it.each([
    ["half an event", 'data: {"a":1}\n\ndata: {"b'],
    ["no JSON", "data: hello\n\n"],
    ["a character that breaks off", Buffer.from('data: "ä', "utf8").subarray(0, -1)],
  ])("are unreadable with %s", async (_, text) => {
    await expect(read(bytesOf(text))).rejects.toThrow("An event is not JSON.");
  });

  it("are no page's lines", async () => {
    expect(await read(bytesOf("<html>\n<body>\n\n</html>\n"))).toEqual([]);
  });

  it.each([
    ["one line without end", "x".repeat(65_536)],
    ["data without end", `data: ${"x".repeat(60_000)}\n`],
    ["a comment without end", `:${"x".repeat(65_536)}`],
  ])("are bounded: %s", async (_, chunk) => {
    const { count, body } = endless(Buffer.from(chunk));
    await expect(read(body)).rejects.toThrow("An event is longer than 1048576 characters.");
    expect(count).toEqual({ chunks: expect.any(Number), closed: true });
    expect(count.chunks).toBeLessThan(20);
  });

  it("are bounded all together, comments too", async () => {
    const { count, body } = endless(Buffer.from(`:${"x".repeat(65_534)}\n`));
    await expect(read(body)).rejects.toThrow("The answer is longer than 268435456 bytes.");
    expect(count).toEqual({ chunks: 4097, closed: true });
  });
});
