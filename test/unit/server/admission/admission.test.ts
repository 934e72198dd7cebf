import { expect, test } from "vitest";
import { Admission } from "../../../../server/admission/admission.ts";
import { ModelLoads } from "../../../../server/admission/model-load.ts";
import { Overload } from "../../../../server/admission/overload.ts";
import type { ReadyModel } from "../../../../server/admission/ready-model.ts";
import { ModelSet } from "../../../../server/models/model-set.ts";
import { Residency } from "../../../../server/models/residency.ts";
import { FakeEngine } from "../fake-engine.ts";

const DEFAULT = { tier: "default", owner: "a" } as const;
const ENTRY = { ...DEFAULT, sequences: 1 };

/** One model with a queue of two; two requests wait, and requests have started every four seconds. */
function fullQueue(random: number): { admission: Admission; ready: ReadyModel; engine: FakeEngine } {
  let now = 0;
  const engine = new FakeEngine();
  const model = { id: "demo", engine, created: 0 };
  const loads = new ModelLoads(() => now);
  const admission = new Admission({
    models: new ModelSet([model]),
    residency: new Residency({
      engines: [engine],
      budgetOf: () => Number.POSITIVE_INFINITY,
      bytesOf: () => 1,
      onlineOf: () => 0,
      keepAliveMs: null,
      now: () => now,
    }),
    loads,
    draining: () => false,
    random: () => random,
    onlineShare: () => 0,
    options: {
      waits: { current: { queueLimit: 2, maxWaitMs: null, queueTimeoutMs: null, flexWaitMs: null } },
    },
  });
  const load = loads.of("demo");
  for (let i = 0; i < 4; i++) load.arrive(ENTRY);
  load.start(ENTRY);
  now += 4000;
  load.start(ENTRY);
  return { admission, engine, ready: { model, facts: engine.facts!, load } };
}

/** A request with a predicted wait, of which two seconds are allowed. */
function waiting(predictedWaitMs: number) {
  return { ...DEFAULT, requests: 1, maxPredictedWaitMs: 2000, predictedWaitMs };
}

function retryAfter(refused: () => void): number | undefined {
  try {
    refused();
  } catch (error) {
    if (error instanceof Overload) return error.retryAfter;
    throw error;
  }
  throw new Error("The request was admitted");
}

test.each([
  [0, 4],
  [0.5, 8],
  [0.999, 12],
])(
  "Retry-After of a full queue lies between the next start and the last waiting one: at %d, %d s",
  (random, seconds) => {
    const { admission, ready } = fullQueue(random);
    expect(retryAfter(() => admission.admit(ready, { ...DEFAULT, requests: 1, maxPredictedWaitMs: null }))).toBe(
      seconds,
    );
  },
);

test.each([
  [0, 10],
  [0.5, 13],
  [0.999, 15],
])("Retry-After of a wait ten seconds past its bound is lengthened by half at most: at %d, %d s", (random, seconds) => {
  const { admission, ready } = fullQueue(random);
  ready.load.leave("waiting", ENTRY);
  expect(retryAfter(() => admission.admit(ready, waiting(12_000)))).toBe(seconds);
});

test("Retry-After is between one second and the sixty that OpenAI's clients obey", () => {
  const { admission, ready } = fullQueue(0);
  ready.load.leave("waiting", ENTRY);
  expect(retryAfter(() => admission.admit(ready, waiting(2001)))).toBe(1);
  expect(retryAfter(() => admission.admit(ready, waiting(3_600_000)))).toBe(60);
});

test.each([
  ["default", "rate_limit_exceeded"],
  ["flex", "resource_unavailable"],
] as const)("a request that its upstream's rate holds for too long is 429 until it would not: %s", (tier, key) => {
  const { admission, engine, ready } = fullQueue(0);
  ready.load.leave("waiting", ENTRY);
  engine.rateMs = 2001;
  const entry = { ...waiting(0), tier };
  expect(() => admission.admit(ready, entry)).toThrow(expect.objectContaining({ key, status: 429, retryAfter: 1 }));
  engine.rateMs = 32_500;
  expect(retryAfter(() => admission.admit(ready, entry))).toBe(31);
  engine.rateMs = 2000;
  admission.admit(ready, entry);
});
