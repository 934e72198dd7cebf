import { expect, it } from "vitest";
import type { ModelFacts } from "../../../../engine/protocol/config.ts";
import { engineDied } from "../../../../engine/state-error.ts";
import { SOLE_DEATHS } from "../../../../store/tables/claims.ts";
import { chatLine, jsonl } from "../../../batch/batch-rig.ts";
import { FACTS, FakeEngine, type FakeRequest, saying } from "../../server/fake-engine.ts";
import { batchRig } from "../batch-rig.ts";

const POISON = "poison";

/** An engine that dies with all its requests at each poisonous one, and is ready again a moment later. */
class MortalEngine extends FakeEngine {
  /** The number of requests that each death ended. */
  readonly deaths: number[] = [];
  #back: Promise<ModelFacts> = Promise.resolve(FACTS);

  constructor() {
    super();
    this.script = (request) => {
      if (JSON.stringify(request.submission.prompt).includes(POISON)) this.#die();
      else {
        saying("yes")(request);
        request.ended = true;
      }
    };
  }

  override ready(): Promise<ModelFacts> {
    return this.#back;
  }

  #die(): void {
    const taken: FakeRequest[] = this.requests.filter(({ ended }) => !ended);
    if (taken.length === 0) return;
    this.deaths.push(taken.length);
    this.state = { name: "restarting", reason: "it died", retryInMs: 1 };
    this.#back = new Promise((resolve) =>
      setImmediate(() => {
        this.state = { name: "ready" };
        resolve(FACTS);
      }),
    );
    for (const request of taken) request.fail(engineDied("demo", 1));
  }
}

it("a poisonous line beside steady online work fails, and delays no other batch while it rests", async () => {
  const engine = new MortalEngine();
  const rig = await batchRig(engine, { calmMs: 3_600_000 });
  rig.loads.of("demo").running = 1;
  const bad = await rig.submit(jsonl([chatLine("bad", POISON)]));
  const lines = Array.from({ length: 600 }, (_, i) => chatLine(`l${i}`, `question ${i}`));
  const good = await rig.submit(jsonl(lines));
  const ended = await rig.reaches(bad, "completed");
  expect(ended.request_counts).toEqual({ total: 1, completed: 0, failed: 1 });
  expect(rig.read(ended.error_file_id)).toMatchObject([{ response: null, error: { code: "engine_died" } }]);
  expect((await rig.reaches(good, "completed")).request_counts).toMatchObject({ completed: 600, failed: 0 });
  expect(engine.deaths.slice(-SOLE_DEATHS)).toEqual(Array(SOLE_DEATHS).fill(1));
  // Halves of at most 64, and then as the only batch line.
  expect(engine.deaths.length).toBeLessThanOrEqual(7 + SOLE_DEATHS);
});

it("a line alone in the engine fails after three deaths without online work", async () => {
  const engine = new MortalEngine();
  const rig = await batchRig(engine);
  const batch = await rig.reaches(await rig.submit(jsonl([chatLine("bad", POISON)])), "completed");
  expect(batch.request_counts).toEqual({ total: 1, completed: 0, failed: 1 });
  expect(engine.deaths).toEqual([1, 1, 1]);
});
