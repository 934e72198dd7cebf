import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { DEFAULT_SHIFT, shiftRules } from "../../../../batch/shift/shift-rules.ts";
import { chatLine, jsonl } from "../../../batch/batch-rig.ts";
import { FakeEngine, saying } from "../../server/fake-engine.ts";
import { batchRig, OWNER } from "../batch-rig.ts";

const FILE = jsonl(Array.from({ length: 3 }, (_, i) => chatLine(`l${i}`, `question ${i}`)));

function answering(): FakeEngine {
  const engine = new FakeEngine();
  engine.script = saying("yes");
  return engine;
}

describe("a step of a batch", () => {
  it("that fails while the batch is cancelled, by another error, is logged", async () => {
    const rig = await batchRig(answering(), {
      validate: (_job, _take, signal) =>
        new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("EIO")), { once: true })),
    });
    const id = await rig.submit(FILE);
    await expect.poll(async () => (await rig.store.batches.get({ owner: OWNER, id }))?.validations).toBe(1);
    await rig.batches.cancel(OWNER, id);
    await rig.reaches(id, "cancelled");
    expect(rig.lines.filter((line) => line.startsWith("A step of a batch failed"))).toHaveLength(1);
  });

  it("that the cancellation aborts is not logged", async () => {
    const rig = await batchRig(answering(), {
      validate: (_job, _take, signal) =>
        new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true })),
    });
    const id = await rig.submit(FILE);
    await expect.poll(async () => (await rig.store.batches.get({ owner: OWNER, id }))?.validations).toBe(1);
    await rig.batches.cancel(OWNER, id);
    await rig.reaches(id, "cancelled");
    expect(rig.lines.filter((line) => line.startsWith("A step of a batch failed"))).toEqual([]);
  });
});

it("the server ends before result files are written, and the next start writes them", async () => {
  const rig = await batchRig(answering());
  const { page } = rig.store.results;
  let pages = 0;
  let asked = () => {};
  const several = new Promise<void>((resolve) => {
    asked = resolve;
  });
  // A file without end.
  rig.store.results.page = async (args) => {
    if (++pages === 3) asked();
    return { ...(await page({ ...args, after: 0 })), end: false };
  };
  const id = await rig.submit(FILE);
  await several;
  await rig.runner.stop();
  expect((await rig.store.batches.get({ owner: OWNER, id }))?.status).toBe("finalizing");
  expect(readdirSync(join(rig.folder, "tmp"))).toEqual([]);
  expect(readdirSync(join(rig.folder, "files"))).toHaveLength(1);
  await rig.store.close();
  const next = await batchRig(answering(), {}, rig.folder);
  const batch = await next.reaches(id, "completed");
  const output = readFileSync(next.files.pathOf(batch.output_file_id ?? ""), "utf8");
  expect(output.trimEnd().split("\n")).toHaveLength(3);
});

it("a page of batches computes one forecast", async () => {
  const rules = shiftRules({ ...DEFAULT_SHIFT, mode: "night" }, "UTC");
  let forecasts = 0;
  const { windows } = rules;
  const spans = windows.spans.bind(windows);
  windows.spans = (...args) => {
    forecasts++;
    return spans(...args);
  };
  // Held in the engine at every hour.
  const rig = await batchRig(new FakeEngine(), { rules });
  const ids: string[] = [];
  for (let i = 0; i < 40; i++) ids.push(await rig.submit(FILE));
  for (const id of ids) await rig.reaches(id, "in_progress");
  await expect.poll(() => rig.runner.backlog.length).toBe(40);
  const before = forecasts;
  const { data } = await rig.batches.list(OWNER, 40, null);
  expect(data.map(({ nightshift }) => nightshift?.position).sort((a, b) => a! - b!)).toEqual(
    Array.from({ length: 40 }, (_, i) => i + 1),
  );
  expect(forecasts - before).toBeLessThan(20);
});
