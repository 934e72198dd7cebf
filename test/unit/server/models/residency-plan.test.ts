import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { planResidency, type ResidencyPlan, type Resident } from "../../../../server/models/residency-plan.ts";

const RULES = { budget: 10, keepAliveMs: 60_000 };
const MINUTE = 60_000;
const UNTIMED = { waitedMs: 0, turnMs: 0, loadMs: 0 };
const busy = (id: string, change: Partial<Resident> = {}) => model(id, { pending: 2, online: 2, ...change });

function model(id: string, change: Partial<Resident> = {}): Resident {
  return { id, bytes: 6, state: "ready", pending: 0, online: 0, idleMs: 1000, wanted: null, ...UNTIMED, ...change };
}

const asleep = (id: string, wanted: Resident["wanted"], bytes = 6) => model(id, { state: "unloaded", wanted, bytes });

/** The table in residency-plan.ts. */
const TABLE: [string, Resident[], Partial<ResidencyPlan>][] = [
  ["room: loaded", [model("a", { bytes: 4 }), asleep("b", "online")], { load: ["b"] }],
  ["room for two: both loaded", [asleep("a", "online", 5), asleep("b", "batch", 5)], { load: ["a", "b"] }],
  ["nobody wants it: nothing", [asleep("a", null)], {}],
  ["no room: an idle one leaves first", [model("a"), asleep("b", "online")], { unload: ["a"] }],
  [
    "the longest idle one leaves, and no more than needed",
    [model("a", { bytes: 4 }), model("b", { bytes: 4, idleMs: 9000 }), asleep("c", "online", 4)],
    { unload: ["b"] },
  ],
  ["one that leaves already: wait", [model("a", { state: "unloading" }), asleep("b", "online")], {}],
  ["one that loads: wait", [model("a", { state: "loading" }), asleep("b", "online")], {}],
  ["one that was used a moment ago: wait", [model("a", { idleMs: 100 }), asleep("b", "online")], {}],
  ["online requests in it: wait", [model("a", { pending: 2, online: 1 }), asleep("b", "online")], {}],
  ["only batch lines in it: recalled", [model("a", { pending: 2 }), asleep("b", "online")], { recall: ["a"] }],
  ["batch lines give nothing up to batch lines", [model("a", { pending: 2 }), asleep("b", "batch")], {}],
  ["a batch waits half a minute after the last request", [model("a", { idleMs: 29_000 }), asleep("b", "batch")], {}],
  ["and then has its turn", [model("a", { idleMs: 31_000 }), asleep("b", "batch")], { unload: ["a"] }],
  [
    "nothing leaves in vain",
    [model("a", { bytes: 2 }), model("b", { bytes: 8, pending: 1, online: 1 }), asleep("c", "online", 6)],
    {},
  ],
  [
    "online first; who comes later takes nothing that an earlier one waits for",
    [model("a", { pending: 1, online: 1 }), asleep("b", "batch", 2), asleep("c", "online")],
    {},
  ],
  [
    "the model that was asked for first comes first",
    [asleep("a", "online"), { ...asleep("b", "online"), waitedMs: 5000 }],
    { load: ["b"] },
  ],
  ["a busy one in its turn: wait", [busy("a", { turnMs: 1999 }), asleep("b", "online")], {}],
  ["its turn is four loads long", [busy("a", { turnMs: 11_999, loadMs: 3000 }), asleep("b", "online")], {}],
  ["its turn is over: drained", [busy("a", { turnMs: 2000 }), asleep("b", "online")], { drain: ["a"], recall: ["a"] }],
  [
    "drained: unloaded, though requests wait for it that came later",
    [
      model("a", { idleMs: 0, turnMs: 9000, wanted: "online", waitedMs: 10 }),
      { ...asleep("b", "online"), waitedMs: 5000 },
    ],
    { unload: ["a"] },
  ],
  ["a batch takes no turn", [busy("a", { turnMs: MINUTE }), asleep("b", "batch")], {}],
  [
    "an idle one leaves before a busy one",
    [busy("a", { turnMs: MINUTE, bytes: 4 }), model("b"), asleep("c", "online")],
    { unload: ["b"] },
  ],
  ["idle for long: unloaded", [model("a", { idleMs: MINUTE })], { unload: ["a"] }],
  ["idle for long, but wanted: kept", [model("a", { idleMs: MINUTE, wanted: "online" })], {}],
  ["busy for long: kept", [model("a", { idleMs: MINUTE, pending: 1 })], {}],
  ["failed ones hold nothing", [model("a", { state: "failed" }), asleep("b", "online")], { load: ["b"] }],
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
      wanted: fc.constantFrom(null, "online" as const, "batch" as const),
    });
    fc.assert(
      fc.property(fc.array(resident, { maxLength: 6 }), (given) => {
        const models = given.map((each, i) => ({ ...each, ...UNTIMED, id: `m${i}` }));
        const { load, unload } = planResidency(models, RULES);
        const bytes = (wanted: (resident: Resident) => boolean) =>
          models.reduce((sum, each) => sum + (wanted(each) ? each.bytes : 0), 0);
        const held = bytes(({ state }) => state !== "unloaded");
        if (load.length > 0) expect(held + bytes(({ id }) => load.includes(id))).toBeLessThanOrEqual(RULES.budget);
        for (const id of unload)
          expect(models.find((each) => each.id === id)).toMatchObject({ state: "ready", pending: 0 });
      }),
    );
  });
});
