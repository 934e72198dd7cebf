import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { BackgroundReading } from "../../../../../server/metrics/machine/background-reading.ts";
import { parseGpu, readGpu } from "../../../../../server/metrics/machine/nvidia-smi.ts";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "nightshift-gpu-"));
});
afterEach(() => rmSync(dir, { recursive: true }));

function tool(script: string): string {
  const path = join(dir, "nvidia-smi");
  writeFileSync(path, `#!/bin/sh\n${script}\n`);
  chmodSync(path, 0o755);
  return path;
}

it("reads one GPU, several GPUs, and values that are not reported", async () => {
  const mib = 1024 * 1024;
  expect(await readGpu(tool('echo "37, 1024, 81920"'))).toEqual({
    utilization: 0.37,
    usedBytes: 1024 * mib,
    totalBytes: 81920 * mib,
  });
  expect(parseGpu("100, 10, 100\n50, 30, 100\n")).toEqual({
    utilization: 0.75,
    usedBytes: 40 * mib,
    totalBytes: 200 * mib,
  });
  expect(parseGpu("[N/A], 10, 100\n")).toEqual({ utilization: null, usedBytes: 10 * mib, totalBytes: 100 * mib });
  expect(parseGpu("12, [Not Supported], [N/A]")).toEqual({ utilization: 0.12, usedBytes: null, totalBytes: null });
});

it.each([
  ["is not there", null],
  ["fails", "echo 'NVIDIA-SMI has failed' >&2; exit 9"],
  ["finds no GPU", "exit 0"],
  ["hangs", "exec sleep 60"],
])("a tool that %s rejects, within its time", async (_name, script) => {
  const command = script === null ? join(dir, "absent") : tool(script);
  await expect(readGpu(command, 200)).rejects.toThrow();
});

it("returns the last reading at once, runs one at a time, and discards old ones", async () => {
  let nowMs = 0;
  const pending: ((value: number) => void)[] = [];
  const reading = new BackgroundReading<number>({
    read: () => new Promise((resolve) => pending.push(resolve)),
    now: () => nowMs,
    keptMs: 100,
    failures: 3,
  });
  const first = reading.refresh();
  expect(reading.get()).toBeNull();
  expect(pending).toHaveLength(1);
  pending[0]!(7);
  await first;
  expect(reading.get()).toBe(7);
  expect(pending).toHaveLength(2);
  // The second hangs: no third one is begun, and what is known grows old.
  nowMs = 101;
  expect(reading.get()).toBeNull();
  expect(pending).toHaveLength(2);
});

it("stops after consecutive failures; a success resets the count", async () => {
  const outcomes = [false, false, true, false, false, false, true];
  let tries = 0;
  const reading = new BackgroundReading<string>({
    read: async () => {
      if (!outcomes[tries++]) throw new Error("failed");
      return "read";
    },
    now: () => 0,
    keptMs: 100,
    failures: 3,
  });
  for (let i = 0; i < 10; i++) await reading.refresh();
  expect(tries).toBe(6);
});
