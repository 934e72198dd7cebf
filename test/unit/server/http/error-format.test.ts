import { expect, test } from "vitest";
import { anthropicError } from "../../../../openapi/anthropic/error.ts";
import { startKeyedServer } from "../../../faults/keys-rig.ts";

const BODY = { model: "demo", max_tokens: 5, messages: [{ role: "user", content: "Hi" }] };

test("a limit of a key, and a used budget, have the statuses and headers of Anthropic's API", async () => {
  const server = await startKeyedServer();
  const limited = await server.key({ requests_per_minute: 1 });
  const first = await server.call(limited.key, "POST", "/v1/messages", BODY);
  expect(first.status).toBe(200);
  const { headers, status } = await server.call(limited.key, "POST", "/v1/messages", BODY);
  expect(status).toBe(429);
  expect(headers.get("anthropic-ratelimit-requests-limit")).toBe("1");
  expect(headers.get("anthropic-ratelimit-requests-remaining")).toBe("0");
  expect(headers.get("anthropic-ratelimit-requests-reset")).toMatch(/^2023-11-14T22:\d\d:\d\d\.\d{3}Z$/);
  expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
  const chat = await server.call(limited.key, "POST", "/v1/chat/completions", BODY);
  expect([chat.status, chat.headers.get("anthropic-ratelimit-requests-limit")]).toEqual([429, null]);

  const poor = await server.key({ budget: { daily_usd: 0 } });
  const refused = await server.call(poor.key, "POST", "/v1/messages", BODY);
  expect(refused.status).toBe(402);
  expect(anthropicError.parse(await refused.json()).error.type).toBe("billing_error");
});

test("a request without a key is refused in the form of its path", async () => {
  const server = await startKeyedServer();
  const refused = await server.call(null, "POST", "/v1/messages?beta=true", BODY);
  expect(refused.status).toBe(401);
  expect(anthropicError.parse(await refused.json())).toMatchObject({
    error: { type: "authentication_error" },
    request_id: refused.headers.get("request-id"),
  });
  const chat = await server.call(null, "POST", "/v1/chat/completions", BODY);
  expect(Object(await chat.json()).error).toMatchObject({ code: "invalid_api_key" });
});
