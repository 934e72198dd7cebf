import { afterAll, beforeAll, expect, it } from "vitest";
import { startKeyedServer } from "../../../faults/keys-rig.ts";
import { saying } from "../fake-engine.ts";
import { CHAT, startTestServer, type TestServer } from "../test-server.ts";
import { exchange } from "./raw-socket.ts";

const APP = "https://app.example";
let closed: TestServer;
let open: TestServer;
let any: TestServer;
beforeAll(async () => {
  [closed, open, any] = await Promise.all([
    startTestServer(),
    startTestServer({ corsOrigin: [APP] }),
    startTestServer({ corsOrigin: ["*"] }),
  ]);
  for (const server of [closed, open, any]) server.engine.script = saying("ok");
});
afterAll(() => Promise.all([closed.close(), open.close(), any.close()]));

/** The request of a page's `fetch(url, {method: "POST", mode: "no-cors", body: form})`: no preflight precedes it. */
async function upload(server: TestServer, headers: Record<string, string>): Promise<number> {
  const body = new FormData();
  body.set("purpose", "user_data");
  body.set("file", new Blob(["x"]), "x.txt");
  return (await fetch(`${server.url}/v1/files`, { method: "POST", headers, body })).status;
}

it("without API keys a page of another origin cannot store a file", async () => {
  expect(await upload(closed, { origin: "https://evil.example", "sec-fetch-site": "cross-site" })).toBe(403);
  expect(await upload(closed, { origin: "http://localhost:1", "sec-fetch-site": "same-site" })).toBe(403);
  expect(await upload(closed, { origin: "null" })).toBe(403);
  expect(await upload(closed, { "sec-fetch-site": "cross-site" })).toBe(403);
  expect(await upload(open, { origin: "https://evil.example" })).toBe(403);
  const list = await fetch(`${closed.url}/v1/files`);
  expect(await list.json()).toMatchObject({ data: [] });
});

it("the refusal names the option that allows the origin", async () => {
  const response = await closed.post("/v1/chat/completions", CHAT, {
    headers: { "content-type": "application/json", origin: APP },
  });
  expect(response.status).toBe(403);
  expect(await response.json()).toMatchObject({ error: { code: "origin_not_allowed" } });
});

it("pages of its own origin, of --cors-origin, and programs are served", async () => {
  expect(await upload(closed, {})).toBe(200);
  expect(await upload(closed, { origin: closed.url, "sec-fetch-site": "same-origin" })).toBe(200);
  expect(await upload(open, { origin: APP, "sec-fetch-site": "cross-site" })).toBe(200);
  expect(await upload(any, { origin: "https://elsewhere.example", "sec-fetch-site": "cross-site" })).toBe(200);
});

it("a link from another origin is followed, and a subresource request is refused", async () => {
  const get = (mode: string) => {
    const head = ["GET /v1/models HTTP/1.1", "Host: localhost", "Connection: close", "Sec-Fetch-Site: cross-site"];
    return exchange(closed.port, [...head, `Sec-Fetch-Mode: ${mode}`, "", ""].join("\r\n"));
  };
  expect(await get("navigate")).toMatch(/^HTTP\/1.1 200 /);
  expect(await get("no-cors")).toMatch(/^HTTP\/1.1 403 /);
});

it("with API keys a page of any origin may call with a key", async () => {
  const server = await startKeyedServer();
  const { key } = await server.key();
  const headers = { authorization: `Bearer ${key}`, origin: APP, "sec-fetch-site": "cross-site" };
  expect((await fetch(`${server.url}/v1/models`, { headers })).status).toBe(200);
});
