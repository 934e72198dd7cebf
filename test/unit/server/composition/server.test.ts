import { expect, it, onTestFinished, vi } from "vitest";
import { OptionsError } from "../../../../platform/options-error.ts";
import { saying } from "../fake-engine.ts";
import { CHAT, startTestServer } from "../test-server.ts";

it("starts its parts in this order", async () => {
  const server = await startTestServer();
  onTestFinished(() => server.close());
  expect(server.parts).toEqual([
    "store",
    "files",
    "webhooks",
    "budget warnings",
    "ledger",
    "API keys",
    "machine time",
    "engines",
    "sweeper",
    "grammars",
    "validation",
    "batches",
    "erasures",
    "downloads",
    "listener",
    "residency",
  ]);
});

it("closes engines after the last stream and before its connection, and batch work before both", async () => {
  const server = await startTestServer();
  const order: string[] = [];
  vi.spyOn(server.runner, "stop").mockImplementation(async () => void order.push("batches"));
  vi.spyOn(server.engine, "close").mockImplementation(async () => void order.push("engines"));
  vi.spyOn(server.ledger, "flush").mockImplementation(async () => void order.push("ledger"));
  const submitted = server.engine.next();
  const answer = server.post("/v1/chat/completions", CHAT);
  const request = await submitted;
  const closed = server.close(60_000);
  await expect.poll(() => order).toEqual(["batches"]);
  saying("ok")(request);
  expect((await answer).status).toBe(200);
  await closed;
  // The second time is the part's own turn, for a server that never listened.
  expect(order).toEqual(["batches", "engines", "engines", "ledger"]);
});

it("stops what had started when the address is taken", async () => {
  const server = await startTestServer();
  onTestFinished(() => server.close());
  const stopped: string[] = [];
  const second = startTestServer({ port: server.port }, {}, (leaf) => stopped.push(leaf));
  await expect(second).rejects.toThrow(OptionsError);
  expect(stopped).toEqual(["validation", "grammars"]);
});

it("reads the live options at each request", async () => {
  const server = await startTestServer({ queueLimit: 1 });
  onTestFinished(() => server.close());
  const submitted = server.engine.next();
  const first = server.post("/v1/chat/completions", CHAT);
  const waiting = await submitted;
  expect((await server.post("/v1/chat/completions", CHAT)).status).toBe(503);
  server.options.replace({ ...server.options.current, queueLimit: 2 });
  server.engine.script = saying("ok");
  expect((await server.post("/v1/chat/completions", CHAT)).status).toBe(200);
  saying("ok")(waiting);
  expect((await first).status).toBe(200);
});
