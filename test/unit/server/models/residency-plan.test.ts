import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { planResidency, type ResidencyPlan, type Resident } from "../../../../server/models/residency-plan.ts";

const RULES = { budget: 10, keepAliveMs: 60_000 };
const MINUTE = 60_000;
const UNTIMED = { waitedMs: 0, readyMs: 0, loadMs: 0 };
const busy = (id: string, change: Partial<Resident> = {}) => model(id, { pending: 2, online: 2, ...change });

function model(id: string, change: Partial<Resident> = {}): Resident {
  return { id, bytes: 6, state: "ready", pending: 0, online: 0, idleMs: 1000, demand: null, ...UNTIMED, ...change };
}

const unloaded = (id: string, demand: Resident["demand"], bytes = 6) => model(id, { state: "unloaded", demand, bytes });

/** The table in residency-plan.ts. */
const TABLE: [string, Resident[], Partial<ResidencyPlan>][] = [
  ["room: loaded", [model("a", { bytes: 4 }), unloaded("b", "online")], { load: ["b"] }],
  ["room for two: both loaded", [unloaded("a", "online", 5), unloaded("b", "batch", 5)], { load: ["a", "b"] }],
  ["not in demand: nothing", [unloaded("a", null)], {}],
  ["no room: an idle model is unloaded first", [model("a"), unloaded("b", "online")], { unload: ["a"] }],
  [
    "the longest idle model is unloaded, and no more than needed",
    [model("a", { bytes: 4 }), model("b", { bytes: 4, idleMs: 9000 }), unloaded("c", "online", 4)],
    { unload: ["b"] },
  ],
  ["a model that unloads already: wait", [model("a", { state: "unloading" }), unloaded("b", "online")], {}],
  ["a model that loads: wait", [model("a", { state: "loading" }), unloaded("b", "online")], {}],
  ["a model used a moment ago: wait", [model("a", { idleMs: 100 }), unloaded("b", "online")], {}],
  ["a model with online requests: wait", [model("a", { pending: 2, online: 1 }), unloaded("b", "online")], {}],
  ["a model with only batch lines: recalled", [model("a", { pending: 2 }), unloaded("b", "online")], { recall: ["a"] }],
  ["batch demand recalls no batch lines", [model("a", { pending: 2 }), unloaded("b", "batch")], {}],
  [
    "batch demand waits half a minute after the last request",
    [model("a", { idleMs: 29_000 }), unloaded("b", "batch")],
    {},
  ],
  [
    "batch demand unloads a model after half a minute",
    [model("a", { idleMs: 31_000 }), unloaded("b", "batch")],
    { unload: ["a"] },
  ],
  [
    "no model is unloaded if the memory would not be enough",
    [model("a", { bytes: 2 }), model("b", { bytes: 8, pending: 1, online: 1 }), unloaded("c", "online", 6)],
    {},
  ],
  [
    "online demand first; a later demand takes no memory from an earlier one",
    [model("a", { pending: 1, online: 1 }), unloaded("b", "batch", 2), unloaded("c", "online")],
    {},
  ],
  [
    "the oldest request first",
    [unloaded("a", "online"), { ...unloaded("b", "online"), waitedMs: 5000 }],
    { load: ["b"] },
  ],
  ["a busy model in its time slice: wait", [busy("a", { readyMs: 1999 }), unloaded("b", "online")], {}],
  ["a time slice is four load times long", [busy("a", { readyMs: 11_999, loadMs: 3000 }), unloaded("b", "online")], {}],
  [
    "its time slice is over: drained",
    [busy("a", { readyMs: 2000 }), unloaded("b", "online")],
    { drain: ["a"], recall: ["a"] },
  ],
  [
    "drained: unloaded, although later requests wait for it",
    [
      model("a", { idleMs: 0, readyMs: 9000, demand: "online", waitedMs: 10 }),
      { ...unloaded("b", "online"), waitedMs: 5000 },
    ],
    { unload: ["a"] },
  ],
  ["batch demand ends no time slice", [busy("a", { readyMs: MINUTE }), unloaded("b", "batch")], {}],
  [
    "an idle model is unloaded before a busy one",
    [busy("a", { readyMs: MINUTE, bytes: 4 }), model("b"), unloaded("c", "online")],
    { unload: ["b"] },
  ],
  ["idle for long: unloaded", [model("a", { idleMs: MINUTE })], { unload: ["a"] }],
  ["idle for long, but in demand: kept", [model("a", { idleMs: MINUTE, demand: "online" })], {}],
  ["busy for long: kept", [model("a", { idleMs: MINUTE, pending: 1 })], {}],
  ["failed models hold no memory", [model("a", { state: "failed" }), unloaded("b", "online")], { load: ["b"] }],
];

describe("planResidency", () => {
  test.each(TABLE)("%s", (_, models, expected) => {
    expect(planResidency(models, RULES)).toEqual({ load: [], unload: [], recall: [], drain: [], ...expected });
  });

  test("unloads no idle model without a keep-alive", () => {
    const plan = planResidency([model("a", { idleMs: 1e9 })], { ...RULES, keepAliveMs: null });
    expect(plan.unload).toEqual([]);
  });

  test("property: never exceeds the budget, and unloads only idle models", () => {
    const resident = fc.record({
      bytes: fc.integer({ min: 1, max: 8 }),
      state: fc.constantFrom("ready" as const, "unloaded" as const, "loading" as const, "unloading" as const),
      pending: fc.nat({ max: 2 }),
      online: fc.constant(0),
      idleMs: fc.nat({ max: 2 * MINUTE }),
      demand: fc.constantFrom(null, "online" as const, "batch" as const),
    });
    fc.assert(
      fc.property(fc.array(resident, { maxLength: 6 }), (given) => {
        const models = given.map((each, i) => ({ ...each, ...UNTIMED, id: `m${i}` }));
        const { load, unload } = planResidency(models, RULES);
        const bytes = (counts: (resident: Resident) => boolean) =>
          models.reduce((sum, each) => sum + (counts(each) ? each.bytes : 0), 0);
        const held = bytes(({ state }) => state !== "unloaded");
        if (load.length > 0) expect(held + bytes(({ id }) => load.includes(id))).toBeLessThanOrEqual(RULES.budget);
        for (const id of unload)
          expect(models.find((each) => each.id === id)).toMatchObject({ state: "ready", pending: 0 });
      }),
    );
  });
});
