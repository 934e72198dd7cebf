import { APIError } from "openai";
import { describe, expect, type TestContext, test } from "vitest";
import { ask, complete, endless, stream } from "../api/ask.ts";
import { HeldLoads } from "../api/held-loads.ts";
import { HeldSteps } from "../api/held-steps.ts";
import { isAlive, readied, TestServer } from "../api/server.ts";
import { until } from "../api/until.ts";

/** A server that stops at the end of its test, which may run beside others. */
async function started(context: TestContext, server: TestServer): Promise<TestServer> {
  context.onTestFinished(() => server.stop());
  return readied(server);
}

/** Reads a stream to its end, however it ends. */
async function drain(chunks: AsyncIterable<unknown>): Promise<unknown> {
  try {
    for await (const _ of chunks);
    return "finished";
  } catch (error) {
    return error;
  }
}

/** Streams that have each received output. */
async function runningStreams(server: TestServer, count: number) {
  const opened = Array.from({ length: count }, async (_, i) => {
    const chunks = await stream(server.client, `Count from ${i} to 20.`, endless(3000));
    const iterator = chunks[Symbol.asyncIterator]();
    await iterator.next();
    return { [Symbol.asyncIterator]: () => iterator };
  });
  return Promise.all(opened);
}

const QUESTIONS: [string, string][] = [
  ["Capital of France?", "The capital of France is Paris."],
  ["What is 7 + 8?", "15"],
  ["Repeat after me: velvet thunder", "velvet thunder"],
  ["Count from 1 to 3.", "1, 2, 3"],
  ["Sentiment of: I love this camera.", "positive"],
];

describe("kill -9 of the engine process under load", () => {
  test("ends open streams with an error event, and runs other requests again", async (context) => {
    const steps = new HeldSteps();
    const loads = new HeldLoads();
    const failpoints = [steps, loads].map(({ env }) => env.NIGHTSHIFT_FAILPOINTS).join(",");
    const env = { NIGHTSHIFT_FAILPOINTS: failpoints };
    const server = await started(context, new TestServer(["--sequences", "6"], env));
    const [engine] = server.enginePids;
    const streams = await runningStreams(server, 4);
    steps.allow(0);
    const whole = complete(server.client, "Count from 5 to 9.", { n: 2, min_tokens: 600, max_tokens: 700 });
    const waiting = QUESTIONS.map(([question]) => ask(server.client, question));
    const unstarted = stream(server.client, "Capital of Kenya?");
    await server.reaches("nightshift_requests_waiting", 6);

    loads.hold();
    process.kill(engine!, "SIGKILL");
    steps.release();
    const ends = await Promise.all(streams.map(drain));
    for (const end of ends) {
      expect(end).toBeInstanceOf(APIError);
      expect(end).toMatchObject({ type: "server_error", code: "engine_died" });
    }
    await server.readyIs(503);
    const refused = await complete(server.client, "Hello!").catch((error: unknown) => error);
    expect(refused).toMatchObject({ status: 503 });
    expect((refused as APIError).headers!.get("retry-after")).toMatch(/^\d+$/);
    loads.release();

    expect(await Promise.all(waiting)).toEqual(QUESTIONS.map(([, answer]) => answer));
    const { choices } = await whole;
    for (const { message } of choices) expect(message.content).toMatch(/^5, 6, 7, 8, 9/);
    expect(await drain(await unstarted)).toBe("finished");

    await server.readyIs(200);
    expect(server.enginePids).toHaveLength(1);
    expect(server.enginePids).not.toContain(engine);
    const metrics = await server.metrics();
    expect(metrics.sum("nightshift_engine_restarts_total", { model: "demo" })).toBe(1);
    expect(metrics.sum("nightshift_requests_total", { status: "error" })).toBe(4);
    expect(await ask(server.client, "Capital of Japan?")).toBe("The capital of Japan is Tokyo.");
    await server.idle();
  });

  test("makes the error event the last of a stream, without [DONE]", async (context) => {
    const server = await started(context, new TestServer([]));
    const response = await server.post("/v1/chat/completions", {
      ...{ model: "demo", messages: [{ role: "user", content: "Count from 1 to 20." }], stream: true },
      ...endless(3000),
    });
    process.kill(server.enginePids[0]!, "SIGKILL");
    const events = (await response.text()).trim().split("\n\n");
    expect(JSON.parse(events.at(-1)!.replace("data: ", ""))).toMatchObject({
      error: { type: "server_error", code: "engine_died", param: null, message: expect.any(String) },
    });
    expect(events.filter((event) => event.includes('"error"'))).toHaveLength(1);
  });
});

// These two spend most of their time in timeouts and backoffs.
test.concurrent("an engine that hangs under load is killed and restarted", async (context) => {
  const { expect } = context;
  const server = await started(context, new TestServer(["--engine-timeout", "5"]));
  const [engine] = server.enginePids;
  const [running] = await runningStreams(server, 1);
  process.kill(engine!, "SIGSTOP");
  const waiting = ask(server.client, "Capital of Norway?");
  expect(await drain(running!)).toMatchObject({ code: "engine_died" });
  expect(await waiting).toBe("The capital of Norway is Oslo.");
  await until("the hung engine to be gone", () => !isAlive(engine!));
  expect((await server.metrics()).sum("nightshift_engine_restarts_total")).toBe(1);
});

test.concurrent("an engine that dies repeatedly is given up, and reported as failed", async (context) => {
  const { expect } = context;
  const server = await started(context, new TestServer([]));
  const killed = new Set<number>();
  const failed = async () => (await (await server.ready()).text()).includes('"failed"');
  await until("the engine to be given up", async () => {
    // An engine that is killed while it loads is tried again later.
    if ((await server.ready()).status !== 200) return failed();
    for (const pid of server.enginePids) {
      if (killed.has(pid)) continue;
      killed.add(pid);
      process.kill(pid, "SIGKILL");
    }
    return failed();
  });
  const refused = await complete(server.client, "Hello!").catch((error: unknown) => error);
  expect(refused).toMatchObject({ status: 503 });
  expect((refused as APIError).headers!.get("x-should-retry")).toBe("false");
  expect((await fetch(`${server.origin}/health`)).status).toBe(200);
});
