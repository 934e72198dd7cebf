import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import type { OnlineTier } from "../../../../engine/protocol/request.ts";
import type { Caller } from "../../../../ledger/key.ts";
import { configuredRoutes } from "../../../../server/routing/configured-routes.ts";
import { NO_TRAITS, type RequestTraits } from "../../../../server/routing/request-traits.ts";
import { type RouteModel, Router } from "../../../../server/routing/router.ts";

const CALLER: Caller = { owner: "acme", key: null };
const READY: RouteModel = { ready: true, predictedWaitMs: 0, objectiveMs: 500, costNano: 10 };
const NOON = Date.parse("2026-11-24T12:00Z");

type Settings = Parameters<typeof configuredRoutes>[0][string];

function rig(settings: Partial<Settings>, states: Record<string, Partial<RouteModel> | null> = {}) {
  const route: Settings = { models: ["small", "big"], rules: [], choose: "first", overflow: [], ...settings };
  const present = { ...states };
  let nowMs = 0;
  const router = new Router({
    routes: configuredRoutes({ chat: route }, "UTC"),
    stateOf: (model) => (present[model] === null ? undefined : { ...READY, ...present[model] }),
    epochMs: () => NOON,
    // Each request comes long after the one before.
    now: () => (nowMs += 60_000),
  });
  return {
    set: (model: string, state: Partial<RouteModel> | null) => {
      present[model] = state;
    },
    route: (
      traits: Partial<RequestTraits> = {},
      tier: OnlineTier = "default",
      caller: Caller = CALLER,
      budgetLeft: number | null = null,
    ) => router.route({ model: "chat", tier, traits: () => ({ ...NO_TRAITS, ...traits }) }, caller, budgetLeft),
    reaches: (caller: Caller, name = "chat") => router.reaches(name, caller),
  };
}

describe("a rule holds", () => {
  it.each<[string, Settings["rules"][number]["when"], Partial<RequestTraits>, boolean]>([
    ["for as many tokens as it names", { promptTokens: 100 }, { promptTokens: 100 }, true],
    ["for no fewer", { promptTokens: 100 }, { promptTokens: 99 }, false],
    ["with tools", { tools: true }, { tools: true }, true],
    ["without tools", { tools: false }, { tools: true }, false],
    ["with a form", { form: true }, { form: true }, true],
    ["where the text has its pattern, in any case", { text: "\\bSQL\\b" }, { text: "write sql, please" }, true],
    ["not where it has not", { text: "\\bSQL\\b" }, { text: "sqlite" }, false],
    ["for its tiers", { tiers: ["default"] }, {}, true],
    ["not for another tier", { tiers: ["flex"] }, {}, false],
    ["for its owners", { owners: ["acme"] }, {}, true],
    ["not for another owner", { owners: ["other"] }, {}, false],
    ["within its hours", { hours: ["11:00-13:00"] }, {}, true],
    ["not outside of them", { hours: ["13:00-11:00"] }, {}, false],
    ["where all of its conditions do", { tools: true, promptTokens: 5 }, { tools: true, promptTokens: 5 }, true],
    ["not where one does not", { tools: true, promptTokens: 5 }, { tools: true, promptTokens: 4 }, false],
    ["without conditions", {}, {}, true],
  ])("%s", (_, when, traits, holds) => {
    const routing = rig({ rules: [{ when, model: "big" }] }).route(traits);
    expect(routing).toMatchObject(
      holds ? { models: ["big"], reason: "rule 1" } : { models: ["small"], reason: "first" },
    );
  });

  it("while the first model's wait is as long as it names, or the model takes no requests", () => {
    const waits = rig({ rules: [{ when: { waitMs: 1000 }, model: "big" }] }, { small: { predictedWaitMs: 999 } });
    expect(waits.route()!.models).toEqual(["small"]);
    waits.set("small", { predictedWaitMs: 1000 });
    expect(waits.route()!.models).toEqual(["big"]);
    waits.set("small", { ready: false });
    expect(waits.route()!.models).toEqual(["big"]);
  });

  it.each([
    [0.1, true],
    [0.11, false],
    [null, false],
  ])("on budgets where %s of one is left: %s", (left, holds) => {
    const routing = rig({ rules: [{ when: { budgetLeft: 0.1 }, model: "big" }] }).route({}, "default", CALLER, left);
    expect(routing!.models).toEqual([holds ? "big" : "small"]);
  });

  it("the first that holds decides", () => {
    const rules = [
      { when: { tools: true }, model: "small" },
      { when: { promptTokens: 1 }, model: "big" },
    ];
    expect(rig({ rules }).route({ tools: true, promptTokens: 9 })).toMatchObject({
      models: ["small"],
      reason: "rule 1",
    });
    expect(rig({ rules }).route({ promptTokens: 9 })).toMatchObject({ models: ["big"], reason: "rule 2" });
  });
});

describe("without a rule", () => {
  test("the cheapest model is chosen whose wait is within its objective", () => {
    const { route, set } = rig({ choose: "cheapest" }, { small: { costNano: 5 }, big: { costNano: 50 } });
    expect(route()).toMatchObject({ models: ["small"], reason: "cheapest" });
    set("small", { costNano: 5, predictedWaitMs: 501 });
    expect(route()!.models).toEqual(["big"]);
    set("big", { costNano: 50, predictedWaitMs: 900 });
    expect(route()!.models).toEqual(["small"]);
  });

  test("a choice by cost stays until another is a tenth cheaper", () => {
    const { route, set } = rig({ choose: "cheapest" }, { small: { costNano: 100 }, big: { costNano: 101 } });
    expect(route()!.models).toEqual(["small"]);
    set("big", { costNano: 91 });
    expect(route()!.models).toEqual(["small"]);
    set("big", { costNano: 89 });
    expect(route()!.models).toEqual(["big"]);
    set("big", { costNano: 100 });
    expect(route()!.models).toEqual(["big"]);
  });

  test("the fastest is the one with the shortest wait", () => {
    const { route } = rig({ choose: "fastest" }, { small: { predictedWaitMs: 2 }, big: { predictedWaitMs: 1 } });
    expect(route()).toMatchObject({ models: ["big"], reason: "fastest" });
  });

  test("a model that is not served or takes no requests is not chosen", () => {
    const { route } = rig({ choose: "cheapest" }, { small: null, big: { costNano: 1000 } });
    expect(route()!.models).toEqual(["big"]);
  });
});

test("with overflow the other models follow in their order", () => {
  expect(
    rig({ models: ["a", "b", "c"], overflow: ["model"], rules: [{ when: {}, model: "b" }] }).route()!.models,
  ).toEqual(["b", "a", "c"]);
});

test("a key reaches only the models that it may use", () => {
  const key = { models: ["big"] } as unknown as NonNullable<Caller["key"]>;
  const { reaches, route } = rig({ rules: [{ when: {}, model: "small" }], overflow: ["model"] });
  expect(route({}, "default", { owner: "acme", key })).toMatchObject({ models: ["big"], reason: "first" });
  const none = { models: ["other"] } as unknown as NonNullable<Caller["key"]>;
  expect(route({}, "default", { owner: "acme", key: none })).toBeNull();
  expect(
    [
      { owner: "acme", key },
      { owner: "acme", key: none },
    ].map((caller) => reaches(caller)),
  ).toEqual([true, false]);
  expect(reaches(CALLER, "small")).toBe(false);
});

test("a routing has each allowed model once at most, and never another", () => {
  const model = fc.constantFrom("a", "b", "c", "d");
  fc.assert(
    fc.property(
      fc.uniqueArray(model, { minLength: 1 }),
      fc.array(fc.record({ tools: fc.boolean(), index: fc.nat(3) }), { maxLength: 4 }),
      fc.constantFrom("first", "cheapest", "fastest"),
      fc.dictionary(model, fc.record({ ready: fc.boolean(), predictedWaitMs: fc.nat(2000), costNano: fc.nat(100) })),
      fc.boolean(),
      (models, given, choose, states, overflow) => {
        const rules = given.map(({ tools, index }) => ({ when: { tools }, model: models[index % models.length]! }));
        const routing = rig({ models, rules, choose, overflow: overflow ? ["model"] : [] }, states).route({
          tools: true,
        })!;
        expect(new Set(routing.models).size).toBe(routing.models.length);
        expect(routing.models.every((name) => models.some((known) => known === name))).toBe(true);
        expect(routing.models).toHaveLength(overflow ? models.length : 1);
      },
    ),
  );
});
