import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { errorResponse } from "../../../../openapi/error-response.ts";
import { saying } from "../fake-engine.ts";
import { CHAT, startTestServer, type TestServer } from "../test-server.ts";
import { exchange, openSocket, rawPost } from "./raw-socket.ts";

const PATH = "/v1/chat/completions";
let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ maxBody: 100_000 });
  server.engine.script = saying("ok");
});
afterAll(() => server.close());

/** The OpenAI error that a response must be. */
async function errorOf(response: Response, status: number) {
  const body = errorResponse.strict().parse(await response.json());
  expect(response.status).toBe(status);
  return body.error;
}

async function expectAlive() {
  expect((await server.post(PATH, CHAT)).status).toBe(200);
}

describe("bodies", () => {
  it.each([
    ["truncated", '{"model":"demo","messages":[{"role":"us'],
    ["empty", ""],
    ["null", "null"],
    ["an array", "[]"],
    ["followed by more", `${JSON.stringify(CHAT)} {}`],
    ["100,000 deep", "[".repeat(100_000)],
    ["deep inside a field", `{"model":"demo","x":${"[".repeat(64)}${"]".repeat(64)}}`],
    ["begun by a byte order mark", `\ufeff${JSON.stringify(CHAT)}`],
    ["with a NUL", '{"model":"demo","messages":[{"role":"user","content":"a\\u0000b"}]}'],
    ["with half of a pair", '{"model":"demo","messages":[{"role":"user","content":"a\\ud83d"}]}'],
    ["with half of a pair in a key", '{"model":"demo","\\udc00":1,"messages":[{"role":"user","content":"a"}]}'],
  ])("a body that is %s is a 400", async (_name, body) => {
    const error = await errorOf(await server.post(PATH, body), 400);
    expect(error.type).toBe("invalid_request_error");
    await expectAlive();
  });

  it("bytes that are not UTF-8 are a 400", async () => {
    const body = Buffer.from(JSON.stringify(CHAT).replace("hi", "h\xff"), "latin1");
    const headers = { "content-type": "application/json" };
    const response = await fetch(server.url + PATH, { method: "POST", headers, body });
    expect((await errorOf(response, 400)).code).toBe("invalid_json");
  });

  it("brackets inside strings add no depth", async () => {
    const content = `${"[{".repeat(100)}\\"\u{1f600}`;
    const body = JSON.stringify({ ...CHAT, messages: [{ role: "user", content }] }).replace(
      "\u{1f600}",
      "\\ud83d\\ude00",
    );
    expect((await server.post(PATH, body)).status).toBe(200);
  });

  it("__proto__ and constructor keys have no effect", async () => {
    const extra = '"__proto__":{"n":9},"constructor":{"prototype":{"n":9}}';
    const response = await server.post(PATH, JSON.stringify(CHAT).replace("{", `{${extra},`));
    expect(response.status).toBe(200);
    expect(server.engine.requests.at(-1)?.submission.n).toBe(1);
    expect(Object.hasOwn(Object.prototype, "n")).toBe(false);
  });

  it("metadata with an entry named __proto__ is refused", async () => {
    const metadata = '"metadata":{"a":"b","__proto__":"x"}';
    const error = await errorOf(await server.post(PATH, JSON.stringify(CHAT).replace("{", `{${metadata},`)), 400);
    expect(error).toMatchObject({ param: "metadata", message: expect.stringContaining("__proto__") });
  });

  it("a declared length over the limit is a 413 that closes the connection", async () => {
    const response = await server.post(PATH, { ...CHAT, junk: "x".repeat(200_000) });
    expect((await errorOf(response, 413)).code).toBe("request_too_large");
    await expectAlive();
  });

  it("a chunked body over the limit is a 413 before it is complete", async () => {
    const socket = await openSocket(
      server.port,
      rawPost(PATH, ["Content-Type: application/json", "Transfer-Encoding: chunked"]),
    );
    const answer = new Promise<string>((resolve) => socket.once("data", (chunk) => resolve(String(chunk))));
    const chunk = `8000\r\n${" ".repeat(0x8000)}\r\n`;
    for (let i = 0; i < 4; i++) socket.write(chunk);
    expect(await answer).toMatch(/^HTTP\/1.1 413 [\s\S]*request_too_large/);
    await new Promise((resolve) => socket.once("close", resolve));
    await expectAlive();
  });

  it.each([
    ["no type", {}],
    ["text", { "content-type": "text/plain" }],
    ["another charset", { "content-type": "application/json; charset=latin1" }],
    ["brotli", { "content-type": "application/json", "content-encoding": "br" }],
  ])("%s is a 415", async (_name, headers) => {
    const body = Buffer.from(JSON.stringify(CHAT));
    await errorOf(await fetch(server.url + PATH, { method: "POST", headers, body }), 415);
    await expectAlive();
  });
});

describe("values", () => {
  it.each([
    ['"temperature":1e999', "temperature"],
    ['"temperature":2.1', "temperature"],
    ['"temperature":"1"', "temperature"],
    ['"temperature":NaN', null],
    ['"top_p":-0.1', "top_p"],
    ['"seed":1.5', "seed"],
    ['"seed":1e30', "seed"],
    ['"max_tokens":-1', "max_tokens"],
    ['"max_tokens":99999999999', "max_tokens"],
    ['"n":17', "n"],
    ['"stop":["a","b","c","d","e"]', "stop"],
    [`"stop":"${"x".repeat(257)}"`, "stop"],
    ['"logprobs":5', "logprobs"],
    ['"top_logprobs":2', "top_logprobs"],
    ['"tools":[{"type":"function","function":{"name":"a name"}}]', "tools[0].function.name"],
    ['"response_format":{"type":"xml"}', "response_format.type"],
    ['"chat_template":"x"', "chat_template"],
    ['"chat_template_kwargs":{"tools":"x"}', "chat_template_kwargs.tools"],
    ['"prompt_embeds":"x"', "prompt_embeds"],
    ['"cache_salt":"x"', "cache_salt"],
    [
      '"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"file:///etc/passwd"}}]}]',
      "messages[0].content[0]",
    ],
  ])("%s is a 400 that names the field", async (field, param) => {
    const error = await errorOf(await server.post(PATH, JSON.stringify(CHAT).replace(/}$/, `,${field}}`)), 400);
    expect(error.param).toBe(param);
    expect(error.code).not.toBeNull();
  });

  it("too many messages are a 400", async () => {
    const requests = { messages: 3, prompts: 2, promptTokens: 4, textLength: 10 };
    const small = await startTestServer({ maxN: 2 }, { requests });
    const say = (content: string) => ({ role: "user", content });
    await errorOf(await small.post(PATH, { ...CHAT, messages: Array(4).fill(say("a")) }), 400);
    await errorOf(await small.post(PATH, { ...CHAT, messages: [say("a".repeat(11))] }), 400);
    await errorOf(await small.post("/v1/completions", { model: "demo", prompt: ["a", "b", "c"] }), 400);
    await errorOf(await small.post("/v1/completions", { model: "demo", prompt: [1, 2, 3, 4, 5] }), 400);
    await errorOf(await small.post("/v1/completions", { model: "demo", prompt: "a", best_of: 3 }), 400);
    await small.close();
  });

  it.each(["other", "../demo", "demo\r\nx: y", "", "x".repeat(5000)])("model %j is a 404", async (model) => {
    const error = await errorOf(await server.post(PATH, { ...CHAT, model }), 404);
    expect(error).toMatchObject({ code: "model_not_found", param: "model" });
    expect(error.message.length).toBeLessThan(400);
  });

  it("an unknown model in a path is a 404", async () => {
    for (const name of ["other", "..%2Fdemo", "demo%0d%0ax"]) {
      expect((await errorOf(await fetch(`${server.url}/v1/models/${name}`), 404)).code).toBe("model_not_found");
    }
    await errorOf(await fetch(`${server.url}/v1/models/%ff`), 400);
  });

  it("unknown fields are ignored and null is unset", async () => {
    const nulls = { temperature: null, stop: null, n: null, tools: null, logprobs: null, stream: null, seed: null };
    const response = await server.post(PATH, { ...CHAT, ...nulls, some_new_field: { deep: [1] } });
    expect(response.status).toBe(200);
  });
});

describe("routes and sockets", () => {
  it("an unknown route is a 404, a wrong method a 405 with Allow", async () => {
    expect((await errorOf(await fetch(`${server.url}/v1/nothing`), 404)).code).toBe("unknown_url");
    const wrong = await fetch(`${server.url}/v1/completions`);
    await errorOf(wrong, 405);
    expect(wrong.headers.get("allow")).toBe("POST, OPTIONS");
    const models = await fetch(`${server.url}/v1/models`, { method: "DELETE" });
    await errorOf(models, 405);
    expect(models.headers.get("allow")).toBe("GET, HEAD, OPTIONS");
    const head = await fetch(`${server.url}/v1/models`, { method: "HEAD" });
    expect([head.status, await head.text()]).toEqual([200, ""]);
    expect((await fetch(server.url + PATH, { method: "OPTIONS" })).status).toBe(204);
  });

  it("slow headers and slow bodies are a 408 that closes the connection", async () => {
    const timeoutServer = await startTestServer({}, { headersTimeoutMs: 300, requestTimeoutMs: 600 });
    expect(await exchange(timeoutServer.port, "POST / HTTP/1.1\r\nHost: localhost\r\nX-Slow")).toMatch(
      /^HTTP\/1.1 408 [\s\S]*"code":"request_timeout"/,
    );
    const slow = rawPost(PATH, ["Content-Type: application/json", "Content-Length: 100"], "{");
    expect(await exchange(timeoutServer.port, slow)).toMatch(/^HTTP\/1.1 408 /);
    expect((await fetch(`${timeoutServer.url}/health`)).status).toBe(200);
    await timeoutServer.close();
  });

  it("headers over 16 KiB, and more than 100, are a 431", async () => {
    const large = rawPost(PATH, [`X-Large: ${"x".repeat(17_000)}`]);
    expect(await exchange(server.port, large)).toMatch(/^HTTP\/1.1 431 [\s\S]*"code":"headers_too_large"/);
    const many = rawPost(PATH, [...Array.from({ length: 120 }, (_, i) => `X-${i}: 1`), "Connection: close"]);
    expect(await exchange(server.port, many)).toMatch(/^HTTP\/1.1 431 [\s\S]*"code":"headers_too_large"/);
  });

  it.each([
    ["two lengths", rawPost(PATH, ["Content-Length: 2", "Transfer-Encoding: chunked"], "{}")],
    ["a bare CR", `POST ${PATH} HTTP/1.1\r\nHost: localhost\rX: y\r\n\r\n`],
    ["a bad chunk", rawPost(PATH, ["Content-Type: application/json", "Transfer-Encoding: chunked"], "zz\r\n")],
  ])("%s is a 400 and closed", async (_name, text) => {
    expect(await exchange(server.port, text)).toMatch(/^HTTP\/1.1 400 /);
    await expectAlive();
  });

  it("100 Continue is sent after all checks that need no body", async () => {
    const body = JSON.stringify(CHAT);
    const headers = [`Content-Length: ${body.length}`, "Expect: 100-continue", "Connection: close"];
    const refused = await exchange(server.port, rawPost(PATH, ["Content-Type: text/plain", ...headers]));
    expect(refused).toMatch(/^HTTP\/1.1 415 /);
    const socket = await openSocket(server.port, rawPost(PATH, ["Content-Type: application/json", ...headers]));
    socket.once("data", () => socket.write(body));
    let received = "";
    for await (const chunk of socket) received += String(chunk);
    expect(received).toMatch(/^HTTP\/1.1 100 Continue\r\n\r\nHTTP\/1.1 200 OK/);
  });

  it("a foreign Host is a 421, and any loopback name and port is accepted", async () => {
    const get = (host: string) =>
      exchange(server.port, `GET /health HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
    expect(await get("evil.example")).toMatch(/^HTTP\/1.1 421 [\s\S]*host_not_allowed/);
    expect(await get("localhost:1234")).toMatch(/^HTTP\/1.1 200 /);
    expect(await get("[::1]:80")).toMatch(/^HTTP\/1.1 200 /);
  });

  it("an IP address in Host is accepted", async () => {
    const named = await startTestServer({ host: "0.0.0.0", apiKeys: "off", allowedHost: ["api.example"] });
    const get = (host: string) =>
      exchange(named.port, `GET /health HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
    for (const host of ["10.1.2.3:8080", "[fd00::1]:8080", "API.example"]) {
      expect(await get(host)).toMatch(/^HTTP\/1.1 200 /);
    }
    expect(await get("evil.example")).toMatch(/^HTTP\/1.1 421 /);
    await named.close();
  });

  it.each([
    ["no Host", "GET /health HTTP/1.1\r\nConnection: close\r\n\r\n", 400, "malformed_request"],
    [
      "two Hosts",
      "GET /health HTTP/1.1\r\nHost: localhost\r\nHost: a\r\nConnection: close\r\n\r\n",
      400,
      "malformed_request",
    ],
    ["an unknown expectation", rawPost(PATH, ["Expect: a-miracle", "Content-Length: 2"]), 417, "expectation_failed"],
    ["CONNECT", "CONNECT example.com:443 HTTP/1.1\r\nHost: localhost\r\n\r\n", 405, "method_not_allowed"],
  ])("%s has the error body too", async (_name, text, status, code) => {
    const answer = await exchange(server.port, text);
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    const error = errorResponse.strict().parse(JSON.parse(answer.slice(answer.indexOf("\r\n\r\n"))));
    expect(error.error.code).toBe(code);
    await expectAlive();
  });

  it("answers forbid caching and type sniffing", async () => {
    const calm = await startTestServer();
    calm.engine.script = saying("ok");
    for (const path of ["/v1/models", "/v1/nothing", "/health", "/metrics", "/openapi.json"]) {
      const { headers } = await fetch(calm.url + path);
      expect([headers.get("cache-control"), headers.get("x-content-type-options")]).toEqual(["no-store", "nosniff"]);
    }
    const stream = await calm.post(PATH, { ...CHAT, stream: true });
    expect(stream.headers.get("cache-control")).toBe("no-store");
    await stream.text();
    await calm.close();
  });

  it.each(["/metrics/", "/METRICS", "/Health", "/v1/models/"])(
    "%s is an unknown route, since paths are exact",
    async (path) => {
      expect((await errorOf(await fetch(server.url + path), 404)).code).toBe("unknown_url");
    },
  );

  it("no error message and no log line contains text of the prompt", async () => {
    server.engine.script = () => {
      throw new Error("never reached");
    };
    const secret = "swordfish";
    const answers = await Promise.all(
      [
        `{"model":"demo","messages":[{"role":"user","content":"${secret}`,
        { ...CHAT, messages: [{ role: "user", content: { a: secret } }] },
        { ...CHAT, messages: secret },
      ].map(async (body) => (await server.post(PATH, body)).text()),
    );
    expect(answers.join() + JSON.stringify(server.lines)).not.toContain(secret);
    server.engine.script = saying("ok");
  });
});
