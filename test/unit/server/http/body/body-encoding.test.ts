import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, it } from "vitest";
import { saying } from "../../fake-engine.ts";
import { CHAT, startTestServer, type TestServer } from "../../test-server.ts";

const PATH = "/v1/chat/completions";
let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ maxBody: 1_000_000 });
  server.engine.script = saying("ok");
});
afterAll(() => server.close());

function post(body: Buffer): Promise<Response> {
  const headers = { "content-type": "application/json", "content-encoding": "gzip" };
  return fetch(server.url + PATH, { method: "POST", headers, body: new Uint8Array(body) });
}

async function codeOf(response: Response) {
  const { error } = (await response.json()) as { error: { code: string } };
  return [response.status, error.code];
}

it("a gzip body is accepted", async () => {
  const content = "Count to ten. ".repeat(1000);
  const response = await post(gzipSync(JSON.stringify({ ...CHAT, messages: [{ role: "user", content }] })));
  expect(response.status).toBe(200);
});

it("the decompressed size of a body is bounded", async () => {
  const bomb = gzipSync(Buffer.alloc(100_000_000, " "));
  expect(bomb.length).toBeLessThan(200_000);
  expect(await codeOf(await post(bomb))).toEqual([413, "request_too_large"]);
});

it.each([
  ["no gzip", Buffer.from(JSON.stringify(CHAT))],
  ["cut off", gzipSync(JSON.stringify(CHAT)).subarray(0, 40)],
])("a body that is %s is a 400", async (_name, body) => {
  expect(await codeOf(await post(body))).toEqual([400, "invalid_encoding"]);
});

it("a large answer is compressed for clients that accept gzip only", async () => {
  const text = "A long answer. ".repeat(10_000);
  server.engine.script = saying(text);
  const ask = async (encoding: string) => {
    const headers = { "content-type": "application/json", "accept-encoding": encoding };
    const response = await server.post(PATH, CHAT, { headers });
    expect(response.headers.get("vary")).toContain("accept-encoding");
    const body = (await response.json()) as { choices: { message: { content: string } }[] };
    expect(body.choices[0]?.message.content).toBe(text);
    return [response.headers.get("content-encoding"), Number(response.headers.get("content-length")) < text.length];
  };
  expect(await ask("gzip, deflate")).toEqual(["gzip", true]);
  expect(await ask("br;q=1.0, *;q=0.1")).toEqual(["gzip", true]);
  expect(await ask("identity")).toEqual([null, false]);
  expect(await ask("gzip;q=0, *")).toEqual([null, false]);
  server.engine.script = saying("ok");
  const small = await server.post(PATH, CHAT, {
    headers: { "content-type": "application/json", "accept-encoding": "gzip" },
  });
  expect(small.headers.get("content-encoding")).toBeNull();
});

it("a large body decodes to the same text wherever its characters are split", async () => {
  const large = await startTestServer();
  large.engine.script = saying("ok");
  for (const before of ["", "a", "ab", "abc"]) {
    const content = `${before}${"\u00e9\u20ac\u{1f600}".repeat(200_000)}`;
    const sent = large.engine.next();
    const answer = large.post(PATH, { ...CHAT, messages: [{ role: "user", content }] });
    const { submission } = await sent;
    expect(submission.prompt).toMatchObject({ messages: [{ content }] });
    expect((await answer).status).toBe(200);
  }
  await large.close();
});
