import { rmSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import { TestServer } from "../api/server.ts";
import { until } from "../api/until.ts";
import { chatLine, ids, jsonl, reaches, results, submit } from "../batch/batch-rig.ts";
import { fillDisk, mountSmallDisk } from "./small-disk.ts";

async function serve(dataDir: string, ...more: string[]): Promise<TestServer> {
  const server = new TestServer(["--data-dir", dataDir, "--disk-reserve", "0", ...more]);
  onTestFinished(() => server.stop());
  return server;
}

test("a killed server starts on a full disk, and resumes its batch with free space", async ({ skip }) => {
  const disk = mountSmallDisk(64 * 1024 * 1024);
  if (disk === null) return skip("mounting a small file system needs root");
  onTestFinished(() => disk.unmount());
  const first = await serve(disk.path);
  await first.says("Ready");
  const lines = Array.from({ length: 12 }, (_, i) => chatLine(`l${i}`, "Count.", { max_tokens: 60, ignore_eos: true }));
  const { id } = await submit(first.client, jsonl(lines));
  await until("lines to run", async () => (await first.client.batches.retrieve(id)).status === "in_progress");
  first.kill("SIGKILL");
  await first.exited;
  const ballast = fillDisk(disk.path);

  const second = await serve(disk.path);
  await second.says("Ready");
  const messages = [{ role: "user", content: "What is 7 + 8?" }] as const;
  const chat = await second.client.chat.completions.create({ model: "demo", messages: [...messages], max_tokens: 4 });
  expect(chat.object).toBe("chat.completion");
  await until("/ready to report the store", async () => (await second.ready()).status === 503);
  rmSync(ballast);
  const batch = await reaches(second.client, id, "completed");
  expect(ids((await results(second.client, batch)).all)).toEqual(ids(lines));
});

test("a first start with API keys on a full disk ends with an error message", async ({ skip }) => {
  const disk = mountSmallDisk(4 * 1024 * 1024);
  if (disk === null) return skip("mounting a small file system needs root");
  onTestFinished(() => disk.unmount());
  const first = await serve(disk.path);
  await first.says("Ready");
  await first.stop();
  fillDisk(disk.path);
  const second = await serve(disk.path, "--api-keys", "on");
  expect(await second.exited).toMatchObject({ code: 1 });
  expect(second.output).toMatch(/^error: .*(No space|full)/m);
  expect(second.output).not.toMatch(/\n {4}at /);
});
