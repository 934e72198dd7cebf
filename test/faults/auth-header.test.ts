import { expect, onTestFinished, test } from "vitest";
import { errorResponse } from "../../openapi/error-response.ts";
import { exchange, rawPost } from "../unit/server/http/raw-socket.ts";
import { CHAT, startTestServer } from "../unit/server/test-server.ts";
import { ADMIN_KEY, startKeyedServer } from "./keys-rig.ts";

const PATH = "/v1/chat/completions";
const OURS = `ns_0123456789abcdef_${"x".repeat(43)}`;

test("a key that is missing, garbled, huge, unknown or repeated is 401", async () => {
  const server = await startKeyedServer();
  const { key } = await server.key();
  const other = `${key.slice(0, -1)}${key.endsWith("A") ? "B" : "A"}`;
  const wrong: string[][] = [
    [],
    ["Authorization:"],
    ["Authorization: Bearer"],
    ["Authorization: Bearer  "],
    [`Authorization: Basic ${Buffer.from(`x:${key}`).toString("base64")}`],
    [`Authorization: ${key}`],
    [`Authorization: Bearer ${OURS}`],
    [`Authorization: Bearer ${other}`],
    [`Authorization: Bearer ${key.slice(0, -1)}`],
    [`Authorization: Bearer ${key} ${key}`],
    [`Authorization: Bearer ns_${"\u00ff".repeat(60)}`],
    [`Authorization: Bearer ${"x".repeat(12_000)}`],
    [`Authorization: Bearer ${key}`, `Authorization: Bearer ${key}`],
    [`authorization: Bearer ${OURS}`, `Authorization: Bearer ${key}`],
  ];
  for (const headers of wrong) {
    const answer = await exchange(server.port, rawPost(PATH, [...headers, "Content-Length: 0", "Connection: close"]));
    const [head = "", body = ""] = answer.split("\r\n\r\n");
    expect(head, headers.join().slice(0, 60)).toMatch(/^HTTP\/1\.1 401 /);
    expect(head).toMatch(/^www-authenticate: Bearer$/im);
    const { error } = errorResponse.strict().parse(JSON.parse(body));
    expect(error).toMatchObject({ type: "authentication_error", code: "invalid_api_key", param: null });
    expect(body).not.toContain(key.slice(0, 12));
  }
  expect((await server.call(key, "POST", PATH, CHAT)).status).toBe(200);
  expect((await server.call(ADMIN_KEY, "POST", PATH, CHAT)).status).toBe(200);
});

test("a wrong key is refused without 100 Continue, before the body is read", async () => {
  const server = await startKeyedServer();
  const head = [
    "Expect: 100-continue",
    "Content-Type: application/json",
    "Content-Length: 5000000",
    "Connection: close",
  ];
  const refused = await exchange(server.port, rawPost(PATH, [...head, `Authorization: Bearer ${OURS}`]));
  expect(refused).toMatch(/^HTTP\/1\.1 401 /);
  expect(refused).not.toContain("100 Continue");
  const { key } = await server.key();
  const taken = exchange(server.port, rawPost(PATH, [...head, `Authorization: Bearer ${key}`], "{".repeat(5_000_000)));
  expect(await taken).toMatch(/^HTTP\/1\.1 100 Continue/);
});

test("the scheme is case-insensitive, and the administrator's key any text", async () => {
  const adminKey = "ein Schlüssel mit über zwanzig Zeichen";
  const server = await startTestServer({ apiKeys: "on", adminKey });
  onTestFinished(() => server.close());
  const head = `GET /v1/models HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nauthorization: bearer  ${adminKey} \r\n\r\n`;
  expect(await exchange(server.port, head)).toMatch(/^HTTP\/1\.1 200 /);
});
