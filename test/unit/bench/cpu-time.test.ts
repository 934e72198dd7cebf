import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, onTestFinished, test } from "vitest";
import { cpuMs } from "../../../bench/target/cpu-time.ts";

const BURNT_MS = 300;
const BURN = `const used = ({ user, system } = process.cpuUsage()) => user + system;
while (used() < ${BURNT_MS * 1000});
process.stdout.write("done");
process.stdin.resume();`;

test.runIf(process.platform === "linux")("CPU time is of a process and its descendants", async () => {
  const before = cpuMs(process.pid);
  const child = spawn(process.execPath, ["-e", BURN], { stdio: ["pipe", "pipe", "inherit"] });
  onTestFinished(() => {
    child.kill();
  });
  await once(child.stdout, "data");
  const used = cpuMs(child.pid!);
  // the kernel rounds the time that the child reads to its ticks
  expect(used).toBeGreaterThan(BURNT_MS * 0.9);
  expect(cpuMs(process.pid) - before).toBeGreaterThan(BURNT_MS * 0.9);
});
