import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { startLocalEngine } from "../../engine/client/local-engine.ts";
import { DEMO_MODEL } from "../api/server.ts";
import { chatLine, ids, jsonl } from "../batch/batch-rig.ts";
import { batchRig } from "../unit/batch/batch-rig.ts";
import { CONFIG, FAST_RESTART } from "./engine-fixture.ts";

const ENTRY = fileURLToPath(new URL("../../dist/engine/worker/main.js", import.meta.url));
const POISON = "the poisoned well";

/** A real engine process that dies at each prompt with the poison. */
function mortalEngine() {
  vi.stubEnv("NIGHTSHIFT_FAILPOINTS", `engine.submit:abort-on=${POISON}`);
  onTestFinished(() => void vi.unstubAllEnvs());
  const log = { debug() {}, info() {}, warn() {}, error() {} };
  let restarts = 0;
  const engine = startLocalEngine(
    { ...CONFIG, model: "demo", path: DEMO_MODEL, sequences: 32, threads: 1 },
    {
      observer: { step() {}, piece() {}, started() {}, ended() {}, restarted: () => void restarts++ },
      log,
      entry: ENTRY,
      restart: { ...FAST_RESTART, maxDeaths: 20 },
    },
  );
  onTestFinished(() => engine.close());
  return { engine, restarts: () => restarts };
}

describe("a line that kills the engine", () => {
  test("fails alone among 64, and its 63 neighbours complete", async () => {
    const { engine, restarts } = mortalEngine();
    await engine.ready();
    const rig = await batchRig(engine, { calmMs: 400 });
    const lines = Array.from({ length: 64 }, (_, i) => chatLine(`l${i}`, i === 41 ? POISON : `Count from ${i} to 20.`));
    const id = await rig.submit(jsonl(lines));
    const batch = await rig.reaches(id, "completed");
    expect(batch.request_counts).toEqual({ total: 64, completed: 63, failed: 1 });
    const output = rig.read(batch.output_file_id);
    const errors = rig.read(batch.error_file_id);
    expect(ids([...output, ...errors])).toEqual(ids(lines));
    expect(errors).toMatchObject([{ custom_id: "l41", response: null, error: { code: "engine_died" } }]);
    // One death each for halves of 64, 32, …, 2, and three deaths alone.
    expect(restarts()).toBeLessThanOrEqual(9);
    await engine.ready();
  });

  test("fails with a second one among 8, and the engine is never given up", async () => {
    const { engine } = mortalEngine();
    await engine.ready();
    const rig = await batchRig(engine, { calmMs: 400 });
    const lines = Array.from({ length: 8 }, (_, i) =>
      chatLine(`l${i}`, i % 4 === 3 ? `${POISON} ${i}` : `What is ${i} + 2?`),
    );
    const id = await rig.submit(jsonl(lines));
    const batch = await rig.reaches(id, "completed");
    expect(batch.request_counts).toEqual({ total: 8, completed: 6, failed: 2 });
    expect(ids(rig.read(batch.error_file_id))).toEqual(["l3", "l7"]);
  });
});
