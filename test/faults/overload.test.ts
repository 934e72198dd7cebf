import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { Backlog, TierBacklog } from "../../engine/protocol/step.ts";
import type { Options } from "../../server/options/table.ts";
import { ask, complete, endless, stream } from "../api/ask.ts";
import { failure } from "../api/failure.ts";
import { HeldSteps } from "../api/held-steps.ts";
import { Scrape } from "../api/scrape.ts";
import { readied, TestServer } from "../api/server.ts";
import { saying } from "../unit/server/fake-engine.ts";
import { startTestServer } from "../unit/server/test-server.ts";

/** Two streams that last while the steps are held; resolves when both have their first token. */
async function occupy(server: TestServer) {
  const streams = await Promise.all(
    ["Count from 1 to 20.", "Count from 2 to 20."].map((asked) => stream(server.client, asked, endless(3000))),
  );
  await Promise.all(streams.map((running) => running[Symbol.asyncIterator]().next()));
  return { leave: () => streams.map(({ controller }) => controller.abort()) };
}

const NONE: TierBacklog = { waiting: 0, running: 0, prefill: 0, written: 0, left: 0 };
const LONG_TIER: TierBacklog = { waiting: 200, running: 32, prefill: 40_000, written: 0, left: 3200 };
/** The backlog of an engine with minutes of work before a new request of any tier. */
const LONG_BACKLOG: Backlog = {
  tiers: { priority: LONG_TIER, default: LONG_TIER, flex: LONG_TIER, batch: NONE },
  flexPlaces: 1,
  kvPerDecode: 100,
  fit: { o: 50, p: 1, d: 5, k: 0, m: 0, r: 0 },
  alternatingSteps: false,
  objectives: { ttftMs: 500, itlMs: 50 },
};

async function fakeServer(options: Partial<Options>) {
  const server = await startTestServer(options);
  onTestFinished(() => server.close());
  const client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: "none", maxRetries: 0 });
  const sum = async (name: string, labels: Record<string, string>) =>
    new Scrape(await server.metrics.registry.metrics()).sum(name, labels);
  return { ...server, client, sum };
}

test("a long predicted wait is 503, flex 429, uncharged, and both succeed later", async () => {
  const server = await fakeServer({ maxWaitMs: 2000, flexWaitMs: 60_000 });
  server.engine.script = saying("5");
  server.engine.backlog = LONG_BACKLOG;
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
  expect(server.engine.requests).toEqual([]);
  expect(await server.sum("nightshift_requests_total", { tier: "flex", status: "unavailable" })).toBe(1);
  expect(await server.sum("nightshift_ledger_cost_usd_total", {})).toBe(0);

  server.engine.backlog = null;
  expect(await ask(server.client, "What is 2 + 3?")).toBe("5");
  expect((await complete(server.client, "What is 2 + 3?", { service_tier: "flex" })).service_tier).toBe("flex");
});

test("an admitted flex request that waits too long is 429; the online one is answered", async () => {
  const server = await fakeServer({ flexWaitMs: 200 });
  const submitted = server.engine.next();
  const flex = failure(complete(server.client, "What is 2 + 3?", { service_tier: "flex" }));
  await submitted;
  const behind = server.engine.next();
  const waiting = ask(server.client, "What is 7 + 8?");
  const online = await behind;
  expect(await flex).toMatchObject({ status: 429, code: "resource_unavailable" });
  saying("15")(online);
  expect(await waiting).toBe("15");
});

describe("after short answers", () => {
  const steps = new HeldSteps();
  let server: TestServer;
  beforeAll(async () => {
    server = await readied(new TestServer(["--sequences", "2"], steps.env));
    await ask(server.client, "Count from 1 to 20.");
  });
  afterAll(() => server.stop());

  test("the predicted wait grows with the queue, and better tiers never wait longer", async () => {
    const predicted = async () => {
      const metrics = await server.metrics();
      const of = (tier: string) => metrics.sum("nightshift_predicted_wait_seconds", { model: "demo", tier });
      return { priority: of("priority"), default: of("default"), flex: of("flex") };
    };
    expect(await predicted()).toEqual({ priority: 0, default: 0, flex: 0 });
    const busy = await occupy(server);
    steps.allow(0);
    const asked = [ask(server.client, "What is 7 + 8?")];
    await server.reaches("nightshift_requests_waiting", 1);
    const short = await predicted();
    for (let more = 0; more < 11; more++) asked.push(ask(server.client, "What is 7 + 8?"));
    await server.reaches("nightshift_requests_waiting", 12);
    const long = await predicted();
    busy.leave();
    steps.release();
    expect(short.default).toBeGreaterThan(0);
    expect(long.default).toBeGreaterThan(short.default);
    expect(long.priority).toBeLessThan(long.default);
    expect(long.flex).toBeGreaterThanOrEqual(long.default);
    expect(new Set(await Promise.all(asked))).toEqual(new Set(["15"]));
  });
});
