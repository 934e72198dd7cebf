import { describe, expect, it } from "vitest";
import { ApiError } from "../../../../openapi/api-error.ts";
import { owner as ownerSchema } from "../../../../openapi/resources/owners.ts";
import { ADMIN_KEY, type KeyedServer, startKeyedServer } from "../../../faults/keys-rig.ts";
import { saying } from "../fake-engine.ts";

const CHAT = { model: "demo", messages: [{ role: "user", content: "hi" }], max_tokens: 8 };
/** One request a minute: the second one shows whether the first counted. */
const TERMS = { requests_per_minute: 1, tokens_per_minute: 100, concurrent: 1, budget: { daily_usd: 1 } };

async function heldUsd(server: KeyedServer): Promise<number> {
  const response = await server.call(ADMIN_KEY, "GET", "/v1/nightshift/owners/a");
  return ownerSchema.parse(await response.json()).spending.held_usd;
}

describe("the charge of a request", () => {
  it("is cancelled when a flex request does not start in time", async () => {
    const server = await startKeyedServer({ flexWaitMs: 20 });
    const { key } = await server.key(TERMS);
    server.engine.script = (request) => request.listener.accepted(5, null);
    const flex = await server.call(key, "POST", "/v1/chat/completions", { ...CHAT, service_tier: "flex" });
    expect(flex.status).toBe(429);
    expect(await flex.json()).toMatchObject({ error: { code: "resource_unavailable" } });
    await expect.poll(() => heldUsd(server)).toBe(0);
    server.engine.script = saying("ok");
    expect((await server.call(key, "POST", "/v1/chat/completions", CHAT)).status).toBe(200);
    expect((await server.call(key, "POST", "/v1/chat/completions", CHAT)).status).toBe(429);
  });

  it("releases tokens and money of a failed request, which counts as a request", async () => {
    const server = await startKeyedServer();
    const { key } = await server.key(TERMS);
    const crash = new ApiError("engine_died", "The engine died.");
    server.engine.script = (request) => request.begin().fail(crash);
    const failed = await server.call(key, "POST", "/v1/chat/completions", CHAT);
    expect(failed.status).toBe(503);
    await expect.poll(() => heldUsd(server)).toBe(0);
    const second = await server.call(key, "POST", "/v1/chat/completions", CHAT);
    expect(second.headers.get("x-ratelimit-remaining-tokens")).toBe("100");
    expect(await second.json()).toMatchObject({ error: { message: expect.stringContaining("requests per minute") } });
  });

  it("holds the upper bound until the engine has counted the prompt", async () => {
    const server = await startKeyedServer();
    const { key } = await server.key({ budget: { daily_usd: 1 } });
    const content = "x".repeat(400);
    const submitted = server.engine.next();
    server.engine.script = () => {};
    const answer = server.call(key, "POST", "/v1/chat/completions", { ...CHAT, messages: [{ role: "user", content }] });
    const request = await submitted;
    // 400 bytes and more of prompt at 1, and 8 tokens of answer at 2 USD per million.
    expect(await heldUsd(server)).toBeGreaterThan((400 + 16) / 1e6);
    request.begin(5, 2);
    await expect.poll(() => heldUsd(server)).toBe((5 + 16) / 1e6);
    request.say("ok").finish();
    expect((await answer).status).toBe(200);
    await server.ledger.flush();
    expect(await heldUsd(server)).toBe(0);
  });

  it("of embeddings is their input tokens", async () => {
    const server = await startKeyedServer();
    const { key } = await server.key(TERMS);
    server.engine.embeds = ({ listener }) => {
      listener.accepted(7, null);
      listener.started();
      listener.vector(0, new Float32Array([1, 0, 0, 0]));
    };
    const response = await server.call(key, "POST", "/v1/embeddings", { model: "demo", input: "x".repeat(200) });
    expect(response.headers.get("x-ratelimit-remaining-tokens")).toBe("50");
    await server.ledger.flush();
    const next = await server.call(key, "POST", "/v1/embeddings", { model: "demo", input: "x" });
    expect(next.status).toBe(429);
    expect(next.headers.get("x-ratelimit-remaining-tokens")).toBe("93");
    expect(await heldUsd(server)).toBe(0);
  });

  it("of a client that left before the first token is its prompt, at no cost", async () => {
    const server = await startKeyedServer();
    const { key } = await server.key(TERMS);
    server.engine.script = (request) => request.begin(90, 0);
    const submitted = server.engine.next();
    const leaving = new AbortController();
    const answer = fetch(`${server.url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify(CHAT),
      signal: leaving.signal,
    });
    const request = await submitted;
    leaving.abort();
    await expect(answer).rejects.toThrow();
    await request.whenCancelled;
    const next = await server.call(key, "POST", "/v1/chat/completions", CHAT);
    expect(next.headers.get("x-ratelimit-remaining-tokens")).toBe("10");
    await server.ledger.flush();
    expect(await heldUsd(server)).toBe(0);
  });

  it("has headers that browsers may read", async () => {
    const server = await startKeyedServer({ corsOrigin: ["https://app.example"] });
    const { key } = await server.key(TERMS);
    const response = await fetch(`${server.url}/v1/models`, {
      headers: { authorization: `Bearer ${key}`, origin: "https://app.example" },
    });
    const exposed = response.headers.get("access-control-expose-headers")?.split(", ");
    expect(exposed).toEqual(
      expect.arrayContaining([
        "x-ratelimit-reset-tokens",
        "x-nightshift-budget-warning",
        "x-nightshift-ignored",
        "x-should-retry",
      ]),
    );
  });
});
