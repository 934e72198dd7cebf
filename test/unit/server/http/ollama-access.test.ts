import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ollamaAccess } from "../../../../server/options/rules.ts";
import { startTestServer, type TestServer } from "../test-server.ts";

let on: TestServer;
let off: TestServer;
beforeAll(async () => {
  on = await startTestServer();
  off = await startTestServer({ ollama: "off" });
});
afterAll(() => Promise.all([on.close(), off.close()]));

describe("pages of this machine", () => {
  it.each([
    ["http://localhost:3000", 200],
    ["https://127.0.0.1", 200],
    ["app://obsidian.md", 200],
    ["vscode-webview://1x", 200],
    ["http://localhost.evil.example", 403],
    ["https://evil.example", 403],
    ["null", 403],
  ])("of %s get status %i from Ollama's paths, and 403 from others", async (origin, status) => {
    const response = await fetch(`${on.url}/api/version`, { headers: { origin } });
    expect(response.status).toBe(status);
    expect(response.headers.get("access-control-allow-origin")).toBe(status === 200 ? origin : null);
    expect((await fetch(`${on.url}/v1/models`, { headers: { origin } })).status).toBe(403);
  });

  it("are answered before the request, as browsers ask", async () => {
    const headers = { origin: "http://localhost:3000", "access-control-request-method": "POST" };
    const response = await fetch(`${on.url}/api/chat`, { method: "OPTIONS", headers });
    expect(response.status).toBe(204);
    expect(response.headers.get("access-control-allow-methods")).toContain("POST");
  });
});

it("where it is off, its paths are unknown, and the error names the option", async () => {
  for (const path of ["chat", "generate", "tags", "show", "embed", "version"]) {
    const response = await fetch(`${off.url}/api/${path}`, { headers: { origin: "http://localhost:3000" } });
    expect(response.status).toBe(403);
    const plain = await fetch(`${off.url}/api/${path}`);
    expect(plain.status).toBe(404);
    expect(await plain.json()).toEqual({ error: expect.stringContaining("--ollama on") });
  }
});

it.each([
  [null, "127.0.0.1", null, "local pages"],
  [null, "0.0.0.0", null, "off"],
  [null, "127.0.0.1", "/run/nightshift.sock", "off"],
  ["on", "0.0.0.0", null, "on"],
  ["off", "127.0.0.1", null, "off"],
] as const)("--ollama %j on %s and socket %j is %s", (ollama, host, uds, access) => {
  expect(ollamaAccess({ ollama, host, uds })).toBe(access);
});
