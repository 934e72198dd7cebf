import { afterAll, beforeAll, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../test-server.ts";

let closed: TestServer;
let open: TestServer;
beforeAll(async () => {
  closed = await startTestServer();
  open = await startTestServer({ corsOrigin: ["https://app.example"] });
});
afterAll(() => Promise.all([closed.close(), open.close()]));

function preflight(server: TestServer, origin: string) {
  const headers = {
    origin,
    "access-control-request-method": "POST",
    "access-control-request-headers": "authorization",
  };
  return fetch(`${server.url}/v1/chat/completions`, { method: "OPTIONS", headers });
}

it("sends no CORS header by default", async () => {
  const response = await preflight(closed, "https://app.example");
  expect(response.headers.get("access-control-allow-origin")).toBeNull();
});

it("allows the named origins only", async () => {
  const named = await preflight(open, "https://app.example");
  expect(named.status).toBe(204);
  expect(named.headers.get("access-control-allow-origin")).toBe("https://app.example");
  expect(named.headers.get("access-control-allow-headers")).toBe("authorization");
  const other = await preflight(open, "https://evil.example");
  expect(other.headers.get("access-control-allow-origin")).toBeNull();
});
