import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { afterEach, expect, test } from "vitest";
import { Random } from "../../../bench/base/random.ts";
import { promptMaker } from "../../../bench/prompts/prompt.ts";
import { HttpFailure, stream } from "../../../bench/target/stream.ts";
import { connect, parseTarget, type Target } from "../../../bench/target/target.ts";

let close = async () => {};
afterEach(() => close());

/** A server that answers each request with `answer` after its body was read. */
async function serve(answer: (body: Record<string, unknown>, response: ServerResponse) => void): Promise<Target> {
  const server = createServer(async (request, response) => {
    request.setEncoding("utf8");
    let text = "";
    for await (const part of request) text += part;
    answer(text === "" ? {} : JSON.parse(text), response);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  close = async () => {
    server.closeAllConnections();
    server.close();
  };
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return connect("peer", parseTarget(`http://127.0.0.1:${address.port}/v1`, "peer").base, "m", false);
}

const event = (data: object) => `data: ${JSON.stringify(data)}\n\n`;
const usage = { prompt_tokens: 7, completion_tokens: 3, prompt_tokens_details: { cached_tokens: 5 } };

test("events, first text, gaps and usage are measured however the reads split", async () => {
  const body =
    event({ choices: [{ delta: { role: "assistant", content: "" } }] }) +
    event({ choices: [{ delta: { content: "é" } }] }) +
    event({ choices: [{ delta: { content: "b" } }] }) +
    event({ choices: [{ delta: {} }] }) +
    event({ choices: [], usage }) +
    "data: [DONE]\n\n";
  const target = await serve((request, response) => {
    expect(request).toMatchObject({ model: "m", stream: true, stream_options: { include_usage: true }, max_tokens: 3 });
    const bytes = Buffer.from(body);
    for (let i = 0; i < bytes.length; i += 5) response.write(bytes.subarray(i, i + 5));
    response.end();
  });
  const sample = await stream(target, { path: "chat/completions", messages: [], max_tokens: 3 });
  expect(sample).toMatchObject({ events: 2, promptTokens: 7, cachedTokens: 5, completionTokens: 3 });
  expect(sample.gaps).toHaveLength(1);
  expect(sample.ttft).toBeGreaterThan(0);
  expect(sample.tpot).toBeCloseTo(sample.gaps[0]! / 2);
});

test.each([
  ["an error event", event({ error: { message: "out of cells" } }), "peer: out of cells"],
  ["a stream that is cut", event({ choices: [{ text: "a" }] }), "ended without [DONE]"],
  ["a stream without usage", `${event({ choices: [{ text: "a" }] })}data: [DONE]\n\n`, "no usage"],
])("%s is a failure", async (_, body, message) => {
  const target = await serve((_request, response) => response.end(body));
  await expect(stream(target, { path: "completions", prompt: [1] })).rejects.toThrow(message);
});

test("a status other than 200 is a failure with the server's message", async () => {
  const target = await serve((_request, response) => response.writeHead(503).end('{"error":{"message":"busy"}}'));
  await expect(stream(target, { path: "completions", prompt: [1] })).rejects.toThrow(/peer: 503 .*busy/);
});

test("a completion's prompt has exactly the given tokens, after the shared ones", async () => {
  const target = await serve(() => {});
  const make = await promptMaker("completions", target, new Random(1));
  const { prompt } = make(40, [1000, 1001], new Random(2));
  expect(prompt).toHaveLength(40);
  expect(prompt).toEqual(expect.arrayContaining([1000, 1001]));
  expect(make(40, null, new Random(3))).not.toEqual(make(40, null, new Random(4)));
});

test("a chat's prompt is corrected by the tokens of the template and a digit", async () => {
  const TEMPLATE = 11;
  const target = await serve((body, response) => {
    const [message] = body.messages as { content: string }[];
    const prompt_tokens = TEMPLATE + message!.content.length * 2;
    response.end(`${event({ choices: [], usage: { prompt_tokens, completion_tokens: 1 } })}data: [DONE]\n\n`);
  });
  const make = await promptMaker("chat", target, new Random(1));
  const sample = await stream(target, make(111, null, new Random(2)));
  expect(sample.promptTokens).toBe(111);
});

test("servers are named by their label or by their index", () => {
  expect(parseTarget("unified=http://127.0.0.1:1/v1", "peer")).toEqual({
    label: "unified",
    base: new URL("http://127.0.0.1:1/v1/"),
  });
  expect(parseTarget("http://127.0.0.1:1/v1/", "peer").label).toBe("peer");
  expect(() => parseTarget("127.0.0.1:1", "peer")).toThrow("http://host:port/v1");
});

test("each text is reported at once, also of an aborted stream", async () => {
  const target = await serve((_, response) => response.write(event({ choices: [{ text: "a" }] })));
  const abort = new AbortController();
  const reported: number[] = [];
  const onText = (at: number) => {
    reported.push(at);
    abort.abort();
  };
  await expect(stream(target, { path: "completions" }, { signal: abort.signal, onText })).rejects.toThrow();
  expect(reported).toHaveLength(1);
});

test("a rejection has its status and Retry-After", async () => {
  const target = await serve((_, response) => response.writeHead(503, { "retry-after": "9" }).end("later"));
  const refused = stream(target, { path: "completions" });
  await expect(refused).rejects.toBeInstanceOf(HttpFailure);
  await expect(refused).rejects.toMatchObject({ status: 503, retryAfter: 9, message: "peer: 503 later" });
});
