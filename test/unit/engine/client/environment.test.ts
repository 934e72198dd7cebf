import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { EngineProcess } from "../../../../engine/client/engine-process.ts";
import { engineEnvironment } from "../../../../engine/client/environment.ts";
import { CONFIG } from "../../../faults/engine-fixture.ts";

const PASSED = {
  PATH: "/bin",
  HOME: "/root",
  TMPDIR: "/var/tmp",
  LD_LIBRARY_PATH: "/lib",
  CUDA_VISIBLE_DEVICES: "1",
  GGML_VK_VISIBLE_DEVICES: "0",
  NVIDIA_VISIBLE_DEVICES: "all",
  HSA_OVERRIDE_GFX_VERSION: "10.3.0",
  ONEAPI_DEVICE_SELECTOR: "level_zero:0",
  TENSILE_SOLUTION_SELECTION_METHOD: "2",
  NIX_LD_LIBRARY_PATH: "/nix/lib",
  OMP_NUM_THREADS: "4",
  MALLOC_ARENA_MAX: "2",
  TZ: "UTC",
  LC_ALL: "C",
  NIGHTSHIFT_FAILPOINTS: "",
};
const KEPT = {
  NIGHTSHIFT_ADMIN_KEY: "a",
  OPENAI_API_KEY: "b",
  HF_TOKEN: "c",
  AWS_SECRET_ACCESS_KEY: "d",
  DATABASE_URL: "e",
  NODE_OPTIONS: "--inspect",
  HTTPS_PROXY: "http://user:password@proxy",
  LLAMA_API_KEY: "f",
  LLAMA_ARG_HF_TOKEN: "g",
  NVIDIA_API_KEY: "h",
};

test("the engine's environment has the variables of libraries and devices alone", () => {
  const environment = engineEnvironment({ ...PASSED, ...KEPT, UV_THREADPOOL_SIZE: "1" });
  expect(environment).toEqual({ ...PASSED, UV_THREADPOOL_SIZE: expect.stringMatching(/^[0-9]+$/) });
  expect(Number(environment.UV_THREADPOOL_SIZE)).toBeGreaterThanOrEqual(6);
});

test("no secret of the server arrives in an engine process", async () => {
  for (const [name, value] of Object.entries(KEPT)) vi.stubEnv(name, name === "NODE_OPTIONS" ? "" : value);
  vi.stubEnv("CUDA_VISIBLE_DEVICES", "1");
  onTestFinished(() => {
    vi.unstubAllEnvs();
  });
  const folder = mkdtempSync(join(tmpdir(), "nightshift-environment-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const entry = join(folder, "names.mjs");
  writeFileSync(entry, "process.send(Object.keys(process.env)); process.on('disconnect', () => process.exit());");
  const log = { debug() {}, info() {}, warn() {}, error() {} };
  const names = await new Promise<unknown>((resolve, reject) => {
    const engine = new EngineProcess(entry, { type: "start", config: CONFIG }, log, {
      message: resolve,
      died: (reason) => reject(new Error(reason)),
    });
    onTestFinished(() => engine.stop(0));
  });
  expect(names).toContain("CUDA_VISIBLE_DEVICES");
  for (const name of Object.keys(KEPT)) expect(names).not.toContain(name);
});
