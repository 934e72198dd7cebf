import { FakeMemory, hostMemory } from "../../../../../bench/scheduler/fake-memory.ts";
import type { EngineError } from "../../../../../engine/protocol/messages.ts";
import type { StepMessage } from "../../../../../engine/protocol/step.ts";
import { ObjectiveWatch } from "../../../../../engine/worker/cost/objectives.ts";
import { StepModel } from "../../../../../engine/worker/cost/step-model.ts";
import { SplitCache } from "../../../../../engine/worker/kv/split-cache.ts";
import { Sampler } from "../../../../../engine/worker/native/sampling/sampler.ts";
import { Scheduler } from "../../../../../engine/worker/scheduler/scheduler.ts";
import { EngineSequence, type EngineSequenceParts } from "../../../../../engine/worker/step/sequence.ts";
import { StepLoop } from "../../../../../engine/worker/step/step-loop.ts";
import { SequenceText } from "../../../../../engine/worker/text/output/sequence-text.ts";
import { plainRequest } from "../plain-request.ts";
import { LIMITS } from "../scheduler/plan-rig.ts";

/** Token 0 ends an answer and is never drawn; token 1, "a", always is. */
export const VOCABULARY = {
  size: 2,
  endTokens: [0],
  isEnd: (token: number) => token === 0,
  piece: (token: number) => new TextEncoder().encode(token === 0 ? "" : "a"),
};

export function generationOf(
  id: number,
  promptTokens: number[],
  limit: number,
  change: Partial<Pick<EngineSequenceParts, "constraint" | "request">> = {},
): EngineSequence {
  const sampler: Sampler = Object.create(Sampler.prototype, {
    free: { value: () => {}, writable: true, configurable: true },
  });
  const text = new SequenceText({ stop: [], reasoningTags: null, startsInReasoning: false });
  const none = { rules: null, constraint: null, logprobs: null, thoughts: null };
  const parts = { request: plainRequest({ id }), index: 0, arrival: id, scope: "", promptTokens, limit, sampler, text };
  return new EngineSequence({ ...parts, ...none, ...change });
}

/** A step loop over a split cache, without llama.cpp. */
export class StepRig {
  readonly cache: SplitCache;
  readonly loop: StepLoop;
  readonly posted: StepMessage[] = [];
  readonly failed: [number, EngineError][] = [];
  wakes = 0;

  constructor(sequences: number, cells: number) {
    const memory = new FakeMemory({ kind: "split", ids: sequences, cells });
    const kv = { ids: sequences, capacity: cells, copyPrice: 8, reserved: 0, reuse: "parts" as const };
    this.cache = new SplitCache(memory, hostMemory(0), kv);
    const stepModel = new StepModel();
    const options = { ...LIMITS, sequences, reserved: 0, reuse: "parts" as const };
    let rows = 0;
    this.loop = new StepLoop({
      context: {
        batch: { clear: () => {}, add: () => rows++ },
        decode: async () => {},
        sample: async (samplers) => samplers.map(() => 1),
        logits: () => new Float32Array(2),
      },
      vocabulary: VOCABULARY,
      cache: this.cache,
      scheduler: new Scheduler<EngineSequence>(this.cache, options, stepModel),
      stepModel,
      objectives: new ObjectiveWatch({ ttftMs: 500, itlMs: 50 }, { sequences, context: cells }),
      now: () => 0,
      post: (message) => this.posted.push(message),
      fail: (generation, error) => {
        this.failed.push([generation.request.id, error]);
        this.loop.cancel(generation);
      },
      wake: () => this.wakes++,
    });
  }

  /** The texts that were sent, by request. */
  get sent(): [number, string][] {
    return this.posted.flatMap(({ outputs }) => outputs).map(({ id, text }) => [id, text]);
  }
}
