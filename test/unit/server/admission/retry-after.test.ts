import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { Admission, Overload, type Place } from "../../../../server/admission/admission.ts";
import { ModelLoads } from "../../../../server/admission/model-load.ts";
import { Metrics } from "../../../../server/metrics/metrics.ts";
import { ModelSet } from "../../../../server/models/model-set.ts";
import { Residency } from "../../../../server/models/residency.ts";
import { FakeEngine } from "../fake-engine.ts";

const DEFAULT = { tier: "default", owner: "a" } as const;
const BURDEN = { ...DEFAULT, sequences: 1 };

/** Of one model with a queue of two; two requests wait, and others have started every four seconds. */
function fullQueue(random: number): { admission: Admission; place: Place } {
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
    metrics: new Metrics(new Registry()),
    draining: () => false,
    random: () => random,
    onlineShare: () => 0,
    options: {
      waits: { current: { queueLimit: 2, maxWaitMs: null, queueTimeoutMs: null, flexWaitMs: null } },
    },
  });
  const load = loads.of("demo");
  for (let i = 0; i < 4; i++) load.arrive(BURDEN);
  load.start(BURDEN);
  now += 4000;
  load.start(BURDEN);
  return { admission, place: { model, facts: engine.facts!, load } };
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
  "Retry-After of a full queue spreads clients from the next start to that of all who wait: at %d, %d s",
  (random, seconds) => {
    const { admission, place } = fullQueue(random);
    expect(retryAfter(() => admission.admit(place, DEFAULT, 1, null))).toBe(seconds);
  },
);

test.each([
  [0, 10],
  [0.5, 13],
  [0.999, 15],
])(
  "Retry-After of a wait ten seconds past its bound spreads clients over half as long again: at %d, %d s",
  (random, seconds) => {
    const { admission, place } = fullQueue(random);
    place.load.leave("waiting", BURDEN);
    expect(retryAfter(() => admission.admit(place, DEFAULT, 1, 2000, 12_000))).toBe(seconds);
  },
);

test("Retry-After is at least one second, and at most the sixty that OpenAI's clients obey", () => {
  const { admission, place } = fullQueue(0);
  place.load.leave("waiting", BURDEN);
  expect(retryAfter(() => admission.admit(place, DEFAULT, 1, 2000, 2001))).toBe(1);
  expect(retryAfter(() => admission.admit(place, DEFAULT, 1, 2000, 3_600_000))).toBe(60);
});
