import { expect, it } from "vitest";
import { tierOf } from "../../../../server/generation/generation-settings.ts";

it.each([
  [undefined, "default"],
  ["auto", "default"],
  ["default", "default"],
  ["scale", "default"],
  ["priority", "priority"],
  ["fast", "priority"],
  ["flex", "flex"],
] as const)("service_tier %s is served as %s", (asked, tier) => {
  expect(tierOf(asked)).toBe(tier);
});
