import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ask, complete, endless, stream } from "../api/ask.ts";
import { failure } from "../api/failure.ts";
import { startServer, type TestServer } from "../api/server.ts";
import { until } from "../api/until.ts";

/** Two streams that last; resolves when both have their first token. */
async function occupy(server: TestServer) {
  const streams = await Promise.all(
    ["Count from 1 to 20.", "Count from 2 to 20."].map((asked) => stream(server.client, asked, endless(3000))),
  );
  await Promise.all(streams.map((running) => running[Symbol.asyncIterator]().next()));
  return { leave: () => streams.map(({ controller }) => controller.abort()) };
}

describe("where answers have been long and requests may wait for 20 ms", () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startServer("--sequences", "2", "--max-wait-ms", "20", "--flex-wait-ms", "20");
    await complete(server.client, "Count from 1 to 20.", endless(1500));
  });
  afterAll(() => server.stop());

  test("who would wait for longer is 503, flex 429, neither is charged, and both are taken when there is room", async () => {
    expect(await ask(server.client, "What is 7 + 8?")).toBe("15");
    const charged = (await server.metrics()).sum("nightshift_ledger_cost_usd_total", { tier: "flex" });
    const busy = await occupy(server);
    for (const tier of ["default", "priority"] as const) {
      const error = await failure(complete(server.client, "What is 2 + 3?", { service_tier: tier }));
      expect(error).toMatchObject({ status: 503, code: "server_is_overloaded", type: "server_error" });
      const seconds = Number(error.headers!.get("retry-after"));
      expect(seconds).toBeGreaterThanOrEqual(1);
      expect(Number(error.headers!.get("retry-after-ms"))).toBe(1000 * seconds);
    }
    const flex = await failure(complete(server.client, "What is 2 + 3?", { service_tier: "flex" }));
    expect(flex).toBeInstanceOf(OpenAI.RateLimitError);
    expect(flex).toMatchObject({ status: 429, code: "resource_unavailable", type: "rate_limit_error" });
    expect(Number(flex.headers!.get("retry-after"))).toBeGreaterThanOrEqual(1);

    busy.leave();
    await server.idle();
    // The engine hears of those who left after the server does, and foretells nothing more then.
    const foretold = async () => (await server.metrics()).sum("nightshift_predicted_wait_seconds", { tier: "default" });
    await until("no wait to be foretold", async () => (await foretold()) === 0);
    expect(await ask(server.client, "What is 2 + 3?")).toBe("5");
    const metrics = await server.metrics();
    expect(metrics.sum("nightshift_requests_total", { tier: "flex", status: "unavailable" })).toBe(1);
    expect(metrics.sum("nightshift_ledger_cost_usd_total", { tier: "flex" })).toBe(charged);
    expect((await complete(server.client, "What is 2 + 3?", { service_tier: "flex" })).service_tier).toBe("flex");
  });
});

describe("where answers have been short", () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startServer("--sequences", "2", "--flex-wait-ms", "300");
    await ask(server.client, "Count from 1 to 20.");
  });
  afterAll(() => server.stop());

  test("a flex request that was let in and waits for too long is 429, and the online one behind it is answered", async () => {
    const busy = await occupy(server);
    const flex = failure(complete(server.client, "What is 2 + 3?", { service_tier: "flex" }));
    await server.reaches("nightshift_requests_waiting", 1);
    const waiting = ask(server.client, "What is 7 + 8?");
    expect(await flex).toMatchObject({ status: 429, code: "resource_unavailable" });
    busy.leave();
    expect(await waiting).toBe("15");
  });

  test("the predicted wait grows with the queue, and no better tier waits longer", async () => {
    const predicted = async () => {
      const metrics = await server.metrics();
      const of = (tier: string) => metrics.sum("nightshift_predicted_wait_seconds", { model: "demo", tier });
      return { priority: of("priority"), default: of("default"), flex: of("flex") };
    };
    expect(await predicted()).toEqual({ priority: 0, default: 0, flex: 0 });
    const busy = await occupy(server);
    const asked = [ask(server.client, "What is 7 + 8?")];
    await server.reaches("nightshift_requests_waiting", 1);
    const short = await predicted();
    for (let more = 0; more < 11; more++) asked.push(ask(server.client, "What is 7 + 8?"));
    await server.reaches("nightshift_requests_waiting", 12);
    const long = await predicted();
    busy.leave();
    expect(short.default).toBeGreaterThan(0);
    expect(long.default).toBeGreaterThan(short.default);
    expect(long.priority).toBeLessThan(long.default);
    expect(long.flex).toBeGreaterThanOrEqual(long.default);
    expect(new Set(await Promise.all(asked))).toEqual(new Set(["15"]));
  });
});
