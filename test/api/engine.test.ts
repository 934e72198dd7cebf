import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type EngineReport, engineList } from "../../openapi/resources/engine.ts";
import { complete, endless, stream } from "./ask.ts";
import { HeldSteps } from "./held-steps.ts";
import { readied, TestServer } from "./server.ts";
import { until } from "./until.ts";

const steps = new HeldSteps();
let server: TestServer;
beforeAll(async () => {
  const args = ["--sequences", "8", "--machine-usd-per-hour", "2.5"];
  server = await readied(new TestServer(args, steps.env));
});
afterAll(() => server.stop());

async function status(): Promise<NonNullable<EngineReport["status"]>> {
  const answer = await fetch(`${server.origin}/v1/nightshift/engine`);
  const { data } = engineList.parse(await answer.json());
  expect(data).toHaveLength(1);
  return data[0]!.status!;
}

async function plan(): Promise<string> {
  const args = ["dist/server/cli.js", "plan", "--url", `${server.origin}/v1`];
  return (await promisify(execFile)(process.execPath, args)).stdout;
}

test("a fresh engine reports no fit, caps or forecast", async () => {
  const { step_model, caps, forecast, sequences, kv } = await status();
  expect(step_model).toMatchObject({ steps: { prefill: 0, decode: 0 }, fit: null });
  expect([caps, forecast]).toEqual([null, null]);
  expect(sequences).toMatchObject({ most: 8, reserved: 1 });
  expect(kv).toMatchObject({ kind: "split", cells_used: 0, prefixes: 0 });
  await expect(plan()).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining("too few steps") });
});

test("running sequences and, afterwards, their prefixes are reported", async () => {
  const running = await Promise.all(
    ["default", "flex"].map((service_tier) =>
      stream(server.client, "Count from 1 to 20.", {
        ...endless(3000),
        service_tier: service_tier as "default" | "flex",
      }),
    ),
  );
  await server.reaches("nightshift_requests_running", 2);
  steps.allow(0);
  expect((await status()).sequences.running).toEqual({ priority: 0, default: 1, flex: 1, batch: 0 });
  for (const { controller } of running) controller.abort();
  steps.release();
  // A cancelled sequence is in the step that runs, until that ends.
  await until("no sequence running", async () => {
    const { sequences } = await status();
    return sequences.running.default + sequences.running.flex === 0;
  });
  const { kv } = await status();
  expect(kv.prefixes).toBeGreaterThan(0);
  expect(kv.prefix_cells).toBe(kv.cells_used);
});

test("a busy engine fits step costs, and `nightshift plan` prices them", async () => {
  await Promise.all(Array.from({ length: 6 }, () => complete(server.client, "Count from 1 to 20.", endless(60))));
  const { step_model, caps, forecast } = await status();
  expect(step_model.steps.decode).toBeGreaterThan(50);
  expect(step_model.fit!.o + step_model.fit!.d).toBeGreaterThan(0);
  expect(caps!.alone.step_ms).toBeGreaterThanOrEqual(caps!.alone.decodes * step_model.fit!.d);
  expect(forecast!.batch_sizes.map(({ batch_size }) => batch_size)).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 512]);
  const [single] = forecast!.batch_sizes;
  expect(single!.usd_per_million_tokens).toBeCloseTo((2.5 / 3600 / single!.tokens_per_second) * 1e6, 6);
  expect(await plan()).toMatch(/^Model 'demo'$[\s\S]*on a machine at USD 2\.5 an hour:[\s\S]*doubling/m);
});
