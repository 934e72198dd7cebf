import { once } from "node:events";
import { request } from "node:http";
import type { AddressInfo } from "node:net";
import express from "express";
import { expect, onTestFinished, test } from "vitest";
import { DEFAULT_REQUEST_LIMITS } from "../../../../openapi/request-limits.ts";
import { withoutKeys } from "../../../../server/auth/authentication.ts";
import { BodyMemory } from "../../../../server/http/context/body-memory.ts";
import { requestContext } from "../../../../server/http/context/request-context.ts";
import { tokenize } from "../../../../server/routes/tokenize.ts";
import { FakeEngine } from "../fake-engine.ts";
import { GRAMMARS_HERE } from "../grammar/grammars-here.ts";

test("a client that leaves while its text waits for the model gives its place up", async () => {
  const model = { id: "demo", created: 0, engine: new FakeEngine() };
  let arrived: (signal: AbortSignal) => void = () => {};
  const waiting = new Promise<AbortSignal>((resolve) => {
    arrived = resolve;
  });
  const admission = {
    find: () => model,
    async awake(_model: unknown, _entrant: unknown, _caller: unknown, signal: AbortSignal) {
      arrived(signal);
      await once(signal, "abort");
    },
    place() {
      throw new Error("nobody is there to be answered");
    },
    admit() {},
  };
  const handler = tokenize({
    models: { list: () => [model] },
    admission,
    allowances: { async during() {} },
    options: { limits: DEFAULT_REQUEST_LIMITS, bodyLimit: 1024 },
    grammars: GRAMMARS_HERE,
  });
  const clock = { now: () => 0, epochMs: () => 0 };
  const context = requestContext(clock, () => "1", new BodyMemory(0));
  const server = express().use(context, withoutKeys).post("/", handler).listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const client = request({ port, method: "POST", headers: { "content-type": "application/json" } });
  client.on("error", () => {});
  client.end(JSON.stringify({ model: "demo", prompt: "Hi" }));
  const signal = await waiting;
  expect(signal.aborted).toBe(false);
  client.destroy();
  await once(signal, "abort");
});
