import fc from "fast-check";
import { expect, test } from "vitest";
import type { OnlineTier } from "../../../../engine/protocol/request.ts";
import type { Key } from "../../../../ledger/key.ts";
import { configuredRoutes } from "../../../../server/routing/configured-routes.ts";
import { type RouteModel, Router } from "../../../../server/routing/router.ts";
import { HOLD_MS } from "../../../../server/routing/steady-choice.ts";

type Settings = Parameters<typeof configuredRoutes>[0][string];

/** Requests of one route, as [milliseconds since the one before, noise of each model's wait in -1 to 1]. */
const requests = fc.array(
  fc.tuple(
    fc.integer({ min: 1, max: 2000 }),
    fc.double({ min: -1, max: 1, noNaN: true }),
    fc.double({ min: -1, max: 1, noNaN: true }),
  ),
  { minLength: 50, maxLength: 300 },
);
const SETTINGS: [string, Partial<Settings>][] = [
  ["fastest", { choose: "fastest" }],
  ["cheapest", { choose: "cheapest" }],
  ["a rule on waits", { rules: [{ when: { waitMs: 500 }, model: "big" }] }],
];

interface Asked {
  tier?: OnlineTier;
  /** Models that the key may use. */
  models?: string[];
}

function rig(settings: Partial<Settings>) {
  const route: Settings = { models: ["small", "big"], rules: [], choose: "first", overflow: [], ...settings };
  const waits: Record<string, number> = {};
  let nowMs = 0;
  const state = (model: string): RouteModel => ({
    ready: true,
    predictedWaitMs: waits[model]!,
    objectiveMs: 500,
    costNano: model === "small" ? 1 : 10,
  });
  const router = new Router({
    routes: configuredRoutes({ chat: route }, "UTC"),
    stateOf: state,
    epochMs: () => 0,
    now: () => nowMs,
  });
  return (afterMs: number, small: number, big: number, { tier = "default", models }: Asked = {}) => {
    nowMs += afterMs;
    Object.assign(waits, { small, big });
    const key = models === undefined ? null : ({ models } as unknown as Key);
    const routing = router.route({ model: "chat", tier }, { owner: "a", key }, null)!;
    return { model: routing.models[0]!, nowMs };
  };
}

test.each(SETTINGS)("under noise around equal waits a choice lasts as long as its time: %s", (_, settings) => {
  fc.assert(
    fc.property(requests, (given) => {
      const ask = rig(settings);
      // Half of the waits are above the objective and the rule's bound of 500 ms, and many differ by more than the margin.
      const choices = given.map(([after, small, big]) => ask(after, 500 + 300 * small, 500 + 300 * big));
      const changes = choices.filter(({ model }, index) => index > 0 && model !== choices[index - 1]!.model);
      const times = [choices[0]!, ...changes].map(({ nowMs }) => nowMs);
      for (const [index, time] of times.slice(1).entries())
        expect(time - times[index]!).toBeGreaterThanOrEqual(HOLD_MS);
    }),
  );
});

test.each(SETTINGS)("a difference that lasts is followed, and so is its end: %s", (_, settings) => {
  fc.assert(
    fc.property(requests, fc.boolean(), (noise, thereFirst) => {
      const ask = rig(settings);
      for (const [after, small, big] of noise) ask(after, 500 + 300 * small, 500 + 300 * big);
      for (const smallWaits of [thereFirst, !thereFirst]) {
        const [small, big] = smallWaits ? [5000, 10] : [10, 5000];
        let last = "";
        for (let ms = 0; ms <= HOLD_MS; ms += 500) last = ask(500, small, big).model;
        expect(last).toBe(smallWaits ? "big" : "small");
      }
    }),
  );
});

test("few requests follow a difference at once", () => {
  const ask = rig({ choose: "fastest" });
  expect(ask(1, 10, 5000).model).toBe("small");
  expect(ask(60_000, 5000, 10).model).toBe("big");
});

test("each tier, and each set of models that keys may use, has a choice of its own", () => {
  const ask = rig({ choose: "fastest" });
  expect(ask(1, 10, 5000).model).toBe("small");
  expect(ask(1, 5000, 10, { tier: "flex" }).model).toBe("big");
  expect(ask(1, 5000, 10, { models: ["big"] }).model).toBe("big");
  expect(ask(1, 5000, 10).model).toBe("small");
});
