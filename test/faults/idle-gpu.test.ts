import { mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { startLocalEngine } from "../../engine/client/local-engine.ts";
import type { EngineConfig } from "../../engine/config.ts";
import { bundledBinaries } from "../../engine/worker/native/binaries.ts";
import { DEMO_MODEL } from "../api/server.ts";
import { CONFIG, FAST_RESTART } from "./engine-fixture.ts";

/** The bundled libraries and a backend for CUDA that no loader takes, as one that lacks CUDA's runtime. */
function withBrokenCuda(): string {
  const folder = mkdtempSync(join(tmpdir(), "nightshift-llama-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const bundled = bundledBinaries(false);
  for (const name of readdirSync(bundled)) symlinkSync(join(bundled, name), join(folder, name));
  writeFileSync(join(folder, "libggml-cuda.so"), "no library");
  return folder;
}

async function warningsOf(config: Partial<EngineConfig>): Promise<string[]> {
  const warnings: string[] = [];
  const engine = startLocalEngine(
    { ...CONFIG, path: DEMO_MODEL, ...config },
    {
      observer: { step: () => {}, piece: () => {}, started: () => {}, ended: () => {}, restarted: () => {} },
      log: { debug: () => {}, info: () => {}, error: () => {}, warn: (_, message) => warnings.push(message) },
      restart: { ...FAST_RESTART, maxLoads: 1 },
    },
  );
  try {
    const { backend } = await engine.ready();
    expect(backend).toBe("cpu");
    return warnings;
  } finally {
    await engine.close();
  }
}

test("a GPU's library that can't be loaded is named with the reason, and the CPU computes", async () => {
  const llamaDir = withBrokenCuda();
  const [warning, ...others] = await warningsOf({ llamaDir, gpu: "auto" });
  expect(others).toEqual([]);
  expect(warning).toMatch(/the CPU computes: libggml-cuda\.so can't be loaded: .*libggml-cuda\.so.*operations\.md/);
  expect(await warningsOf({ llamaDir, gpu: "off" })).toEqual([]);
});
