import { existsSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { backUp } from "../../../../backup/backup.ts";
import { ApiError } from "../../../../openapi/api-error.ts";
import type { Batch } from "../../../../openapi/resources/batches.ts";
import type { Store } from "../../../../store/store.ts";
import { StoreError } from "../../../../store/types/store-error.ts";
import { chatLine, jsonl } from "../../../batch/batch-rig.ts";
import { FakeEngine, saying } from "../../server/fake-engine.ts";
import { freshFolder } from "../../store/test-store.ts";
import { type BatchRig, batchRig } from "../batch-rig.ts";

/** A batch of 3 lines, one of which fails, whose rows stay when its server ends; `removed` of them are gone. */
async function endedBeforeCleanUp(
  removed = 0,
): Promise<{ rig: BatchRig; batch: Batch; next: () => Promise<BatchRig> }> {
  const engine = new FakeEngine();
  engine.script = (request) => {
    if (!JSON.stringify(request.submission.prompt).includes("question 1")) return saying("yes")(request);
    request.fail(new ApiError("invalid_value", "No."));
  };
  const rig = await batchRig(engine);
  const { remove } = rig.store.results;
  rig.store.results.remove = async (args) => {
    if (removed > 0) await remove({ ...args, limit: removed });
    throw new StoreError("io", "the server ends here");
  };
  const lines = Array.from({ length: 3 }, (_, i) => chatLine(`l${i}`, `question ${i}`));
  const batch = await rig.reaches(await rig.submit(jsonl(lines)), "completed");
  await expect.poll(() => rig.lines.filter((line) => line.startsWith("A step of a batch failed")).length).toBe(1);
  const next = async () => {
    await rig.runner.stop();
    await rig.store.close();
    return batchRig(new FakeEngine(), {}, rig.folder);
  };
  return { rig, batch, next };
}

const rowsOf = (rig: BatchRig, batchId: string) => rig.store.lines.counts({ batchId });

describe("a start on a disk that can't be written", () => {
  it("resumes the last server's work when the store is writable, and starts nothing before", async () => {
    const engine = new FakeEngine();
    engine.script = () => {};
    const rig = await batchRig(engine);
    const id = await rig.submit(jsonl([chatLine("a", "question")]));
    const running = [{ state: "running", count: 1 }];
    await expect.poll(() => rowsOf(rig, id)).toEqual(running);
    const left = `${freshFolder()}/data`;
    await backUp({ dataDir: rig.folder, to: left, version: "1", now: new Date(0) });

    let full = true;
    let tries = 0;
    const prepare = ({ claims }: Store) => {
      const { recover } = claims;
      claims.recover = async () => {
        tries++;
        if (full) throw new StoreError("full", "database or disk is full");
        return recover();
      };
    };
    const next = new FakeEngine();
    next.script = saying("yes");
    const after = await batchRig(next, {}, left, { prepare });
    after.runner.schedule(id);
    await expect.poll(() => tries).toBeGreaterThan(1);
    expect(after.lines.filter((line) => line.startsWith("Batches can't go on yet"))).toHaveLength(1);
    expect(await rowsOf(after, id)).toEqual(running);
    full = false;
    expect(await after.reaches(id, "completed")).toMatchObject({ request_counts: { completed: 1 } });
  });
});

describe("a result file that the disk lost before its rows were removed", () => {
  it.each([
    ["gone", (path: string) => rmSync(path)],
    ["cut short", (path: string) => truncateSync(path, 10)],
    ["damaged", (path: string) => writeFileSync(path, readFileSync(path, "utf8").replace("yes", "no!"))],
  ])("%s: is written again with equal bytes", async (_, harm) => {
    const { rig, batch, next } = await endedBeforeCleanUp();
    const paths = [batch.output_file_id, batch.error_file_id].map((id) => rig.files.pathOf(id ?? ""));
    const texts = paths.map((path) => readFileSync(path, "utf8"));
    for (const path of paths) harm(path);
    const after = await next();
    await expect.poll(() => rowsOf(after, batch.id)).toEqual([]);
    expect(paths.map((path) => readFileSync(path, "utf8"))).toEqual(texts);
    expect(await after.files.get("local", batch.output_file_id ?? "")).toMatchObject({ bytes: texts[0]!.length });
  });

  it("is not written from a part of its rows", async () => {
    const { rig, batch, next } = await endedBeforeCleanUp(1);
    const path = rig.files.pathOf(batch.output_file_id ?? "");
    rmSync(path);
    const after = await next();
    await expect.poll(() => rowsOf(after, batch.id)).toEqual([]);
    expect(existsSync(path)).toBe(false);
    expect(after.lines.filter((line) => line.startsWith("A result file is lost"))).toHaveLength(1);
  });

  it("is not written again after its owner deleted it", async () => {
    const { rig, batch, next } = await endedBeforeCleanUp();
    const path = rig.files.pathOf(batch.output_file_id ?? "");
    await rig.files.remove("local", batch.output_file_id ?? "");
    const after = await next();
    await expect.poll(() => rowsOf(after, batch.id)).toEqual([]);
    expect(existsSync(path)).toBe(false);
    expect(after.read(batch.error_file_id)).toHaveLength(1);
  });
});
