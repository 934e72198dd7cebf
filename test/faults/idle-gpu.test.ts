import { mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { bundledBinaries } from "../../engine/worker/native/library/binaries.ts";
import { startServer } from "../api/server.ts";

/** The bundled libraries and a CUDA backend that fails to load, as without CUDA's runtime. */
function withBrokenCuda(): string {
  const folder = mkdtempSync(join(tmpdir(), "nightshift-llama-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const bundled = bundledBinaries(false);
  for (const name of readdirSync(bundled)) symlinkSync(join(bundled, name), join(folder, name));
  writeFileSync(join(folder, "libggml-cuda.so"), "no library");
  return folder;
}

const WARNING = /the CPU computes: libggml-cuda\.so can't be loaded: .+\. docs\/operations\.md/;

/** The server's output until it is ready. */
async function said(...args: string[]): Promise<string> {
  const server = await startServer("--llama-dir", withBrokenCuda(), ...args);
  await server.stop();
  return server.output;
}

test("a GPU library that fails to load is named with the reason, and the CPU computes", async () => {
  expect(await said()).toMatch(WARNING);
  expect(await said("--gpu", "off")).not.toContain("libggml-cuda");
});
