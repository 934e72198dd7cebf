import { afterEach, expect, test } from "vitest";
import { engineList } from "../../../../openapi/resources/engine.ts";
import type { Options } from "../../../../server/options/table.ts";
import { STATUS } from "../../engine/protocol/status.ts";
import { startTestServer, type TestServer } from "../test-server.ts";

let server: TestServer;
afterEach(() => server.close());

async function report(options: Partial<Options> = {}, status = STATUS as typeof STATUS | null) {
  server = await startTestServer(options);
  server.engine.status = status;
  const response = await fetch(`${server.url}/v1/nightshift/engine`);
  expect(response.status).toBe(200);
  return engineList.parse(await response.json()).data;
}

test("the status has the step model, its caps, and the load", async () => {
  const [engine] = await report();
  expect(engine).toMatchObject({ object: "nightshift.engine", model: "demo", state: "ready" });
  expect(engine?.status).toMatchObject({
    step_model: { steps: { prefill: 20, decode: 1200 }, error: { median: 0.031 }, fit: { o: 8, p: 0.05, d: 0.5 } },
    caps: {
      alone: { step_ms: 25, decodes: 28, prefill_tokens: 300 },
      beside_online: [{ streams: 8, online_ms: 12, step_ms: 13.2, decodes: 2 }],
    },
    kv: { kind: "split", cells: 65_536, cells_used: 900, cells_reserved: 8192, prefixes: 3, prefix_cells: 700 },
    sequences: { most: 32, reserved: 4, running: STATUS.running, waiting: STATUS.waiting },
  });
});

test("the price of a million tokens is the machine's hour over the tokens of an hour", async () => {
  const [engine] = await report({ machineUsdPerHour: 3.6, machineSpotUsdPerHour: 0.9 });
  const sizes = engine?.status?.forecast?.batch_sizes;
  // 16 tokens in 16 ms are 1,000 a second, 3.6 million an hour.
  expect(sizes?.[4]).toEqual({
    batch_size: 16,
    step_ms: 16,
    tokens_per_second: 1000,
    usd_per_million_tokens: 1,
    spot_usd_per_million_tokens: 0.25,
    extrapolated: false,
  });
  expect(sizes?.map(({ extrapolated }) => extrapolated).indexOf(true)).toBe(7);
});

test("without a machine price there is no price, and without a step model no forecast", async () => {
  const [unpriced] = await report({ machineSpotUsdPerHour: 1 });
  expect(unpriced?.status?.forecast?.batch_sizes[0]).toMatchObject({ usd_per_million_tokens: null });
  expect(unpriced?.status?.forecast?.batch_sizes[0]?.spot_usd_per_million_tokens).toBeGreaterThan(0);
  await server.close();
  const [unfitted] = await report({}, { ...STATUS, fit: null, outlook: null });
  expect(unfitted?.status).toMatchObject({ step_model: { fit: null }, caps: null, forecast: null });
});

test("an engine without a status has its state", async () => {
  server = await startTestServer();
  server.engine.state = { name: "loading", progress: 0.5 };
  const answer = engineList.parse(await (await fetch(`${server.url}/v1/nightshift/engine`)).json());
  expect(answer.data).toEqual([{ object: "nightshift.engine", model: "demo", state: "loading", status: null }]);
});
