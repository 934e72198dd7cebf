import { expect, it } from "vitest";
import { startKeyedServer } from "../../../faults/keys-rig.ts";
import { CHAT } from "../test-server.ts";

it("each answered request is one log line with owner, path and tokens, without text", async () => {
  const server = await startKeyedServer();
  const { key, id } = await server.key();
  const requests = () => server.lines.filter(({ message, level }) => message === "Request" && level === "info");
  const chat = await server.call(key, "POST", "/v1/chat/completions", CHAT);
  await chat.text();
  await expect.poll(() => requests().at(-1)?.fields).toMatchObject({ path: "/v1/chat/completions" });
  expect(requests().at(-1)?.fields).toEqual({
    requestId: chat.headers.get("x-request-id"),
    owner: "a",
    key: id,
    method: "POST",
    path: "/v1/chat/completions",
    status: 200,
    ms: expect.any(Number),
    model: "demo",
    tier: "default",
    outcome: "ok",
    inputTokens: expect.any(Number),
    cachedTokens: expect.any(Number),
    outputTokens: expect.any(Number),
  });
  await (await server.call(key, "GET", "/v1/models/demo")).text();
  await expect.poll(() => requests().at(-1)?.fields).toMatchObject({ path: "/v1/models/:model", status: 200 });

  const before = requests().length;
  await (await server.call(key, "GET", "/health")).text();
  await (await server.call(null, "GET", "/v1/models")).text();
  await (await server.call(key, "GET", "/v1/models/none")).text();
  await (await server.call(key, "GET", "/v1/models")).text();
  await expect.poll(() => requests().length).toBeGreaterThan(before);
  expect(requests()).toHaveLength(before + 1);
});

it("the line of a stream whose client disconnects has its outcome and tokens", async () => {
  const server = await startKeyedServer();
  const { key } = await server.key();
  server.engine.script = (request) => void request.begin().say("one");
  const leaving = new AbortController();
  const answer = fetch(`${server.url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ ...CHAT, stream: true }),
    signal: leaving.signal,
  });
  await (await answer).body!.getReader().read();
  leaving.abort();
  const lines = () => server.lines.filter(({ message }) => message === "Request").map(({ fields }) => fields);
  const line = () => lines().find((fields) => "left" in fields);
  await expect.poll(line).toMatchObject({ left: true, status: 200, model: "demo", outcome: "cancelled" });
  expect(line()).toMatchObject({ inputTokens: 5, outputTokens: 1 });
});
