import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { HeldLoads } from "../api/held-loads.ts";
import { DEMO_MODEL, TestServer } from "../api/server.ts";
import { until } from "../api/until.ts";

test("a SIGHUP during the start reloads the options after it", async () => {
  const dataDir = mkdtempSync(join(tmpdir(), "nightshift-hangup-"));
  const loads = new HeldLoads();
  loads.hold();
  // Two models are measured before the server listens.
  const models = ["--model", `a=${DEMO_MODEL}`, "--model", `b=${DEMO_MODEL}`];
  const server = new TestServer(["--data-dir", dataDir, ...models], loads.env);
  onTestFinished(async () => {
    await server.stop();
    rmSync(dataDir, { recursive: true, force: true });
  });
  await until("the store to be opened", async () => existsSync(join(dataDir, "lock")));
  server.kill("SIGHUP");
  expect(server.logged("Listening; the models are loading")).toEqual([]);
  loads.release();
  await server.says("Options were reloaded: none changed");
  await server.says("Ready");
});
