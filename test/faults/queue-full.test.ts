import OpenAI from "openai";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ask, complete, endless, stream } from "../api/ask.ts";
import { failure } from "../api/failure.ts";
import { HeldSteps } from "../api/held-steps.ts";
import { readied, TestServer } from "../api/server.ts";

const steps = new HeldSteps();
let server: TestServer;
beforeAll(async () => {
  server = await readied(new TestServer(["--queue-limit", "2", "--sequences", "1"], steps.env));
});
afterAll(() => server.stop());

test("a request over the queue limit is 503 with Retry-After, and earlier ones finish", async () => {
  steps.allow(5);
  const running = await stream(server.client, "Count from 1 to 20.", endless(3000));
  await running[Symbol.asyncIterator]().next();
  const waiting = [ask(server.client, "What is 7 + 8?"), ask(server.client, "Capital of Peru?")];
  await server.reaches("nightshift_requests_waiting", 2);

  const error = await failure(complete(server.client, "Hello!"));
  expect(error).toBeInstanceOf(OpenAI.InternalServerError);
  expect(error).toMatchObject({ status: 503, code: "server_is_overloaded", type: "server_error" });
  expect(Number(error.headers!.get("retry-after"))).toBeGreaterThanOrEqual(1);
  const streamed = await stream(server.client, "Hello!").catch((reason: unknown) => reason);
  expect(streamed).toMatchObject({ status: 503, code: "server_is_overloaded" });

  running.controller.abort();
  steps.release();
  expect(await Promise.all(waiting)).toEqual(["15", "The capital of Peru is Lima."]);
  expect((await server.metrics()).sum("nightshift_requests_total", { status: "unavailable" })).toBe(2);
});

test("the SDK's own retries succeed when the queue has room", async () => {
  const retrying = new OpenAI({ baseURL: `${server.origin}/v1`, apiKey: "none", maxRetries: 2 });
  steps.allow(5);
  const running = await stream(server.client, "Count from 1 to 20.", endless(3000));
  await running[Symbol.asyncIterator]().next();
  const waiting = [ask(server.client, "What is 7 + 8?"), ask(server.client, "What is 2 + 3?")];
  await server.reaches("nightshift_requests_waiting", 2);
  const before = (await server.metrics()).sum("nightshift_requests_total", { status: "unavailable" });
  const refused = ask(retrying, "Capital of Norway?");
  await server.reaches("nightshift_requests_total", before + 1, { status: "unavailable" });
  running.controller.abort();
  steps.release();
  expect(await refused).toBe("The capital of Norway is Oslo.");
  expect(await Promise.all(waiting)).toEqual(["15", "5"]);
});
