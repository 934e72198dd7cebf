import { beforeEach, describe, expect, it } from "vitest";
import { chatLine, jsonl } from "../../../batch/batch-rig.ts";
import { FakeEngine, saying } from "../../server/fake-engine.ts";
import { batchRig } from "../batch-rig.ts";
import { pass, stopTime } from "../stopped-time.ts";
import { neverValid } from "../validation/validate-here.ts";

beforeEach(stopTime);

const WINDOW = { windowSeconds: 30 };

const lines = (count: number) => Array.from({ length: count }, (_, i) => chatLine(`l${i}`, `question ${i}`));

function answering(): FakeEngine {
  const engine = new FakeEngine();
  engine.script = saying("yes");
  return engine;
}

describe("the window's end", () => {
  it("puts finished lines into the output file and the rest into the error file", async () => {
    const engine = new FakeEngine();
    let count = 0;
    engine.script = (request) => {
      if (count++ < 7) saying("yes")(request);
    };
    const rig = await batchRig(engine, WINDOW);
    const id = await rig.submit(jsonl(lines(90)));
    await expect.poll(async () => (await rig.get(id)).request_counts.completed).toBe(7);
    await pass(WINDOW.windowSeconds);
    const batch = await rig.reaches(id, "expired");
    expect(batch).toMatchObject({ request_counts: { total: 90, completed: 7, failed: 0 }, cancelled_at: null });
    expect(batch.expired_at).not.toBeNull();
    expect(rig.read(batch.output_file_id)).toHaveLength(7);
    const errors = rig.read(batch.error_file_id);
    expect(errors).toHaveLength(83);
    expect(errors[0]?.error).toEqual({
      code: "batch_expired",
      message: "This request could not be executed before the completion window expired.",
    });
  });

  it("ends a batch that waits for its validation", async () => {
    const rig = await batchRig(answering(), { ...WINDOW, validate: neverValid });
    const [one, two] = [await rig.submit(jsonl(lines(1))), await rig.submit(jsonl(lines(1)))];
    await pass(WINDOW.windowSeconds);
    for (const id of [one, two]) {
      expect(await rig.reaches(id, "expired")).toMatchObject({ in_progress_at: null, error_file_id: null });
    }
  });

  it("ends no batch by a wall clock that was read only once", async () => {
    const first = await batchRig(new FakeEngine(), WINDOW);
    const id = await first.submit(jsonl(lines(3)));
    const { expires_at } = await first.reaches(id, "in_progress");
    await first.runner.stop();
    await first.store.close();
    await pass(expires_at - Date.now() / 1000);
    const engine = new FakeEngine();
    const second = await batchRig(engine, {}, first.folder, { settled: false });
    await engine.next();
    expect((await second.get(id)).status).toBe("in_progress");
    await second.sweeper.sweep();
    await second.reaches(id, "expired");
  });

  it("that passed while no server ran ends the batch at the next start", async () => {
    const first = await batchRig(new FakeEngine(), WINDOW);
    const id = await first.submit(jsonl(lines(10)));
    const before = await first.reaches(id, "in_progress");
    await first.runner.stop();
    await first.store.close();
    const { expires_at } = before;
    await pass(expires_at - Date.now() / 1000);
    const second = await batchRig(answering(), {}, first.folder);
    const batch = await second.reaches(id, "expired");
    expect(batch.request_counts).toEqual({ total: 10, completed: 0, failed: 0 });
    expect(second.read(batch.error_file_id)).toHaveLength(10);
  });
});
