import { expect, test } from "vitest";
import { FakeMemory, hostMemory } from "../../../bench/scheduler/fake-memory.ts";
import type { EngineError } from "../../../engine/protocol/messages.ts";
import type { StepMessage } from "../../../engine/protocol/step.ts";
import { Generation } from "../../../engine/worker/generation.ts";
import { SplitCache } from "../../../engine/worker/kv/split.ts";
import { Sampler } from "../../../engine/worker/native/sampler.ts";
import { ObjectiveWatch } from "../../../engine/worker/scheduler/objectives.ts";
import { Scheduler } from "../../../engine/worker/scheduler/scheduler.ts";
import { StepModel } from "../../../engine/worker/scheduler/step-model.ts";
import { StepLoop } from "../../../engine/worker/step-loop.ts";
import { SequenceText } from "../../../engine/worker/text/sequence-text.ts";
import { LIMITS } from "../scheduler/plan-rig.ts";
import { plainRequest } from "./plain-request.ts";

function generation(id: number, promptTokens: number[], limit: number): Generation {
  const request = plainRequest({ id });
  const sampler: Sampler = Object.create(Sampler.prototype, { free: { value: () => {} } });
  const text = new SequenceText({ stop: [], reasoningTags: null, startsInReasoning: false });
  const none = { rules: null, constraint: null, logprobs: null, thoughts: null };
  return new Generation({ request, index: 0, arrival: id, scope: "", promptTokens, limit, sampler, text, ...none });
}

test("a sequence that can't start ends with an error of its own, and the others are answered", async () => {
  const cache = new SplitCache(new FakeMemory({ kind: "split", ids: 2, cells: 8 }), hostMemory(0), {
    ids: 2,
    capacity: 8,
    copyPrice: 8,
    reserved: 0,
    reuse: true,
  });
  const impossible = generation(1, [1, 2, 3], 2);
  const place = cache.place.bind(cache);
  cache.place = (sequence, online) => sequence !== impossible && place(sequence, online);
  const stepModel = new StepModel();
  const posted: StepMessage[] = [];
  const failed: [number, EngineError][] = [];
  let rows = 0;
  const loop = new StepLoop({
    context: {
      batch: { clear: () => {}, add: () => rows++ },
      decode: async () => {},
      sample: async (samplers) => samplers.map(() => 1),
      logits: () => new Float32Array(2),
    },
    vocabulary: { isEnd: () => false, piece: () => new TextEncoder().encode("a") },
    cache,
    scheduler: new Scheduler<Generation>(cache, { ...LIMITS, sequences: 2, reserved: 0, reuse: true }, stepModel),
    stepModel,
    objectives: new ObjectiveWatch({ ttftMs: 500, itlMs: 50 }, { sequences: 2, context: 8 }),
    now: () => 0,
    post: (message) => posted.push(message),
    fail: (generation, error) => {
      failed.push([generation.request.id, error]);
      loop.cancel(generation);
    },
    wake: () => {},
  });
  loop.add(impossible);
  loop.add(generation(2, [4, 5], 2));
  while (await loop.step());

  expect(failed.map(([id, { status, code }]) => [id, status, code])).toEqual([[1, 500, "internal_error"]]);
  const outputs = posted.flatMap(({ outputs }) => outputs);
  expect(outputs.map(({ id, text }) => [id, text])).toEqual([
    [2, "a"],
    [2, "a"],
  ]);
  expect(outputs.at(-1)?.finish?.reason).toBe("length");
});
