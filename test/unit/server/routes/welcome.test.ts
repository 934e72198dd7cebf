import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { exchange } from "../http/raw-socket.ts";
import { startTestServer, type TestServer } from "../test-server.ts";

const ADMIN_KEY = "administrator-key-of-this-test";

let open: TestServer;
let keyed: TestServer;
beforeAll(async () => {
  open = await startTestServer();
  keyed = await startTestServer({ apiKeys: "on", host: "0.0.0.0", adminKey: ADMIN_KEY });
});
afterAll(() => Promise.all([open.close(), keyed.close()]));

describe("GET /", () => {
  test("is text for curl, with a command for a shell", async () => {
    const response = await fetch(`${open.url}/`, { headers: { accept: "*/*" } });
    expect(response.headers.get("content-type")).toMatch(/^text\/plain/);
    const text = await response.text();
    expect(text).toContain(`  ${open.url}/v1  OpenAI: chat completions, Responses\n`);
    expect(text).toContain(`  ${open.url}     Anthropic: Messages\n  ${open.url}     Ollama\n`);
    expect(text).toContain("Models: demo\n");
    const [, path, body] = /^curl (\S+) .* -d '(.*)'$/m.exec(text)!;
    expect(path).toBe(`${open.url}/v1/chat/completions`);
    expect(JSON.parse(body!)).toMatchObject({ model: "demo", messages: [{ role: "user" }] });
  });

  test("is a page for browsers that loads nothing", async () => {
    const accept = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
    const response = await fetch(`${open.url}/`, { headers: { accept } });
    expect(response.headers.get("content-type")).toMatch(/^text\/html/);
    expect(response.headers.get("content-security-policy")).toContain("default-src 'none'");
    const html = await response.text();
    for (const path of ["/v1/models", "/openapi.json", "/ready", "/metrics"]) expect(html).toContain(`href="${path}"`);
  });

  test("is JSON for clients that accept JSON only", async () => {
    const response = await fetch(`${open.url}/`, { headers: { accept: "application/json" } });
    expect(await response.json()).toMatchObject({
      name: "nightshift",
      base_url: `${open.url}/v1`,
      base_urls: { openai: `${open.url}/v1`, anthropic: open.url, ollama: open.url },
      models: ["demo"],
    });
  });

  test("HEAD has no body", async () => {
    const response = await fetch(`${open.url}/`, { method: "HEAD" });
    expect([response.status, await response.text()]).toEqual([200, ""]);
  });

  test("names no models while API keys are on", async () => {
    const text = await (await fetch(`${keyed.url}/`)).text();
    expect(text).not.toContain("demo");
    expect(text).toContain("authorization: Bearer");
  });

  test("does not name Ollama where its API is not served", async () => {
    const text = await (await fetch(`${keyed.url}/`)).text();
    expect(text).toContain("Anthropic");
    expect(text).not.toContain("Ollama");
  });

  test("a forged Host header is escaped in the page and in the command", async () => {
    const head = `GET / HTTP/1.1\r\nHost: h$(id)'<b>\r\nAuthorization: none\r\nAccept: text/html\r\nConnection: close\r\n\r\n`;
    const answer = await exchange(keyed.port, head);
    expect(answer).toMatch(/^HTTP\/1\.1 200 /);
    expect(answer).toContain("&#60;b&#62;");
    expect(answer).not.toContain("<b>");
    const line = /curl [^\n]*/.exec(answer)?.[0] ?? "";
    expect(line).not.toContain("$(");
  });
});

describe("an API key", () => {
  const models = (headers: Record<string, string>) => fetch(`${keyed.url}/v1/models`, { headers });

  test("may be sent as x-api-key", async () => {
    expect((await models({ "x-api-key": ADMIN_KEY })).status).toBe(200);
    expect((await models({ "x-api-key": "wrong" })).status).toBe(401);
  });

  test("may be in x-api-key beside another one in Authorization", async () => {
    expect((await models({ authorization: `Bearer ${ADMIN_KEY}`, "x-api-key": "wrong" })).status).toBe(200);
    expect((await models({ authorization: "Bearer wrong", "x-api-key": ADMIN_KEY })).status).toBe(200);
    expect((await models({ authorization: "Bearer wrong", "x-api-key": "wrong too" })).status).toBe(401);
  });

  test("in several x-api-key headers is refused", async () => {
    const twice = `x-api-key: ${ADMIN_KEY}\r\n`.repeat(2);
    const answer = await exchange(
      keyed.port,
      `GET /v1/models HTTP/1.1\r\nHost: x\r\n${twice}Connection: close\r\n\r\n`,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 401 /);
  });
});

describe("GET /v1/models/{model}", () => {
  test.each(["org/small", "org%2Fsmall", "a/b/c"])("accepts a name with slashes: %s", async (name) => {
    const response = await fetch(`${open.url}/v1/models/${name}`);
    expect(response.status).toBe(404);
    const message = expect.stringContaining(`'${decodeURIComponent(name)}'`);
    expect(await response.json()).toMatchObject({ error: { code: "model_not_found", message } });
  });

  test("returns the served model", async () => {
    expect(await (await fetch(`${open.url}/v1/models/demo`)).json()).toMatchObject({ id: "demo", object: "model" });
  });
});
