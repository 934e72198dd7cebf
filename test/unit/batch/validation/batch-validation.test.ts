import { describe, expect, it } from "vitest";
import { type Validate, ValidationLost } from "../../../../batch/validation/validation-job.ts";
import type { Batch } from "../../../../openapi/resources/batches.ts";
import { StoreError } from "../../../../store/types/store-error.ts";
import { chatLine, jsonl } from "../../../batch/batch-rig.ts";
import { FakeEngine, saying } from "../../server/fake-engine.ts";
import { type BatchRig, batchRig, OWNER } from "../batch-rig.ts";
import { neverValid, validateHere } from "./validate-here.ts";

const FILE = jsonl([chatLine("a", "hi")]);

function answering(): FakeEngine {
  const engine = new FakeEngine();
  engine.script = saying("yes");
  return engine;
}

async function validationsOf(rig: BatchRig, id: string): Promise<number | undefined> {
  return (await rig.store.batches.get({ owner: OWNER, id }))?.validations;
}

/** Loses the first attempts, and records which ran in a process of their own and the count before each. */
function losing(losses: number) {
  const tries: { alone: boolean; counted: number | undefined }[] = [];
  let rig: BatchRig | null = null;
  const validate: Validate = async (job, take, signal) => {
    const { data } = (await rig?.batches.list(OWNER, 1, null)) ?? { data: [] };
    tries.push({ alone: job.alone, counted: await validationsOf(rig!, data[0]!.id) });
    if (tries.length <= losses) throw new ValidationLost("the process ended");
    return validateHere(job, take, signal);
  };
  const use = (used: BatchRig) => {
    rig = used;
  };
  return { tries, validate, use };
}

describe("a lost validation", () => {
  it("is counted durably before each attempt, and fails its batch after the third", async () => {
    const { tries, validate, use } = losing(3);
    const rig = await batchRig(answering(), { validate });
    use(rig);
    const batch: Batch = await rig.reaches(await rig.submit(FILE), "failed");
    expect(batch.errors?.data).toMatchObject([{ code: "validation_failed", line: null }]);
    expect(tries).toEqual([
      { alone: false, counted: 1 },
      { alone: true, counted: 2 },
      { alone: true, counted: 3 },
    ]);
  });

  it("runs again in its own process, so a file that only shared the process is validated", async () => {
    const { tries, validate, use } = losing(1);
    const rig = await batchRig(answering(), { validate });
    use(rig);
    await rig.reaches(await rig.submit(FILE), "completed");
    expect(tries.map(({ alone }) => alone)).toEqual([false, true]);
  });

  it("is counted across restarts", async () => {
    let rig = await batchRig(answering(), { validate: neverValid });
    const id = await rig.submit(FILE);
    for (const count of [1, 2, 3]) {
      await expect.poll(() => validationsOf(rig, id)).toBe(1);
      await rig.runner.stop();
      // The count that a killed server leaves.
      await rig.store.batches.countValidations({ id, count });
      await rig.store.close();
      if (count < 3) rig = await batchRig(answering(), { validate: neverValid }, rig.folder);
      if (count < 3) await expect.poll(() => validationsOf(rig, id)).toBe(count + 1);
      if (count < 3) await rig.store.batches.countValidations({ id, count: 1 });
    }
    const last = await batchRig(answering(), {}, rig.folder);
    expect((await last.reaches(id, "failed")).errors?.data).toMatchObject([{ code: "validation_failed" }]);
  });
});

describe("a validation that ends without a result is not counted", () => {
  it("when the server ends", async () => {
    const rig = await batchRig(answering(), { validate: neverValid });
    const id = await rig.submit(FILE);
    await expect.poll(() => validationsOf(rig, id)).toBe(1);
    await rig.runner.stop();
    expect(await validationsOf(rig, id)).toBe(0);
  });

  it("when its file or the store fails, also where the count can't be taken back", async () => {
    const alone: boolean[] = [];
    let failures = 0;
    const rig = await batchRig(answering(), {
      validate: async (job, take, signal) => {
        alone.push(job.alone);
        if (failures++ < 2) throw new Error("EMFILE");
        return validateHere(job, take, signal);
      },
    });
    const { countValidations } = rig.store.batches;
    rig.store.batches.countValidations = async (args) => {
      if (args.count === 0) throw new StoreError("full", "no room");
      return countValidations(args);
    };
    await rig.reaches(await rig.submit(FILE), "completed");
    expect(alone).toEqual([false, false, false]);
  });
});

it("an owner's one-line batch is validated before another owner's queue of 200", async () => {
  const order: string[] = [];
  let begin = () => {};
  const held = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const rig = await batchRig(answering(), {
    validate: async (job, take, signal) => {
      order.push(job.owner);
      await held;
      return validateHere(job, take, signal);
    },
  });
  for (let i = 0; i < 200; i++) await rig.submitAs("many", FILE);
  const id = await rig.submitAs("few", FILE);
  // Beside the other owner's first file, whose validation is held.
  await expect.poll(() => order).toEqual(["many", "few"]);
  begin();
  await expect.poll(async () => (await rig.batches.get("few", id)).status).toBe("completed");
});
