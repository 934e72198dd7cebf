import fc from "fast-check";
import { expect, test } from "vitest";
import { costsPageOf } from "../../../ledger/costs-report.ts";
import { MachineShare } from "../../../ledger/machine-report.ts";
import type { MachinePrice } from "../../../ledger/prices.ts";
import { costsPage } from "../../../openapi/resources/organization-usage.ts";
import type { BusyTime, MachineSums } from "../../../store/tables/machine-time.ts";
import type { UsageSum } from "../../../store/tables/usage.ts";

const CHAT = "/v1/chat/completions";
const TIERS = ["priority", "default", "flex", "batch"] as const;
const PAGE = { start: 0, end: 86_400, width: 86_400, buckets: [0], nextPage: null };
const PRICE = { onDemand: 3.6, spot: 0.9 };
const BY = { owner: false, keyId: false, endpoint: false, model: true, batch: false, tier: true };

function busy(tier: BusyTime["tier"], seconds: number, change: Partial<BusyTime> = {}) {
  return { bucket: 0, model: "demo", endpoint: CHAT, tier, busyUs: seconds * 1e6, ...change };
}

function usage(tier: UsageSum["tier"], tokens: number): UsageSum {
  const none = {
    owner: null,
    keyId: null,
    endpoint: null,
    upstream: null,
    version: null,
    batch: null,
    cachedTokens: 0,
    reasoningTokens: 0,
  };
  const estimates = { estimatedRequests: 0, estimatedInputTokens: 0, estimatedOutputTokens: 0, estimatedCostNano: 0 };
  const costs = { costNano: 1000 * tokens, defaultCostNano: 2000 * tokens };
  return {
    ...none,
    ...estimates,
    ...costs,
    bucket: 0,
    model: "demo",
    tier,
    requests: 1,
    inputTokens: tokens,
    outputTokens: 0,
  };
}

function bucketOf(
  sums: UsageSum[],
  machine: MachineSums | null,
  price: MachinePrice = PRICE,
  by: Partial<typeof BY> = {},
) {
  const page = costsPageOf(PAGE, sums, { groupBy: { ...BY, ...by }, byItem: false, machine, price });
  return costsPage.parse(page).data[0]!;
}

test("an hour is split into online, flex, batch and idle time, with prices per item", () => {
  const sums = [usage("default", 500_000), usage("batch", 4_000_000)];
  const machine = {
    busy: [busy("default", 500), busy("priority", 100), busy("batch", 800)],
    up: [{ bucket: 0, upUs: 3600e6 }],
  };
  const { results, nightshift } = bucketOf(sums, machine);
  expect(nightshift.machine).toEqual({
    up_seconds: 3600,
    seconds: { online: 600, flex: 0, batch: 800, idle: 2200 },
    idle_share: 2200 / 3600,
    usd: 3.6,
    spot_usd: 0.9,
    usd_per_million_tokens: 0.8,
    spot_usd_per_million_tokens: 0.2,
  });
  const costs = results.map((result) => [result.nightshift.service_tier, result.nightshift.machine]);
  const cost = (seconds: number, millions: number) => ({
    seconds,
    usd: seconds / 1000,
    spot_usd: seconds / 4000,
    usd_per_million_tokens: millions === 0 ? null : seconds / 1000 / millions,
    spot_usd_per_million_tokens: millions === 0 ? null : seconds / 4000 / millions,
  });
  expect(costs).toEqual([
    ["default", cost(500, 0.5)],
    ["batch", cost(800, 4)],
    // Its work was not charged.
    ["priority", cost(100, 0)],
  ]);
  expect(results[2]).toMatchObject({ amount: { value: 0 }, nightshift: { tokens: 0, model: "demo" } });
});

test("without a machine price there are seconds only, without machine time neither", () => {
  const machine = { busy: [busy("default", 1)], up: [{ bucket: 0, upUs: 2e6 }] };
  const unpriced = bucketOf([usage("default", 10)], machine, { onDemand: null, spot: null });
  expect(unpriced.nightshift.machine).toMatchObject({ usd: null, spot_usd: null, idle_share: 0.5 });
  expect(unpriced.results[0]!.nightshift.machine).toMatchObject({
    seconds: 1,
    usd: null,
    usd_per_million_tokens: null,
  });
  const hidden = bucketOf([usage("default", 10)], null);
  expect([hidden.nightshift.machine, hidden.results[0]!.nightshift.machine]).toEqual([null, null]);
});

test("costs by project or key have no machine time and no uncharged accounts", () => {
  const machine = { busy: [busy("flex", 1)], up: [{ bucket: 0, upUs: 2e6 }] };
  const { results, nightshift } = bucketOf([usage("default", 10)], machine, PRICE, { keyId: true });
  expect(results.map((result) => result.nightshift.machine)).toEqual([null]);
  expect(nightshift.machine?.seconds.flex).toBe(1);
});

test("the parts always sum to the uptime and its price", () => {
  const time = fc.record({
    bucket: fc.constant(0),
    model: fc.constantFrom("a", "b", "c"),
    endpoint: fc.constantFrom(CHAT, "/v1/embeddings"),
    tier: fc.constantFrom(...TIERS),
    busyUs: fc.integer({ min: 1, max: 3600e6 }),
  });
  fc.assert(
    fc.property(fc.array(time, { maxLength: 12 }), fc.integer({ min: 1, max: 3600e6 }), (times, upUs) => {
      const share = new MachineShare({ busy: times, up: [{ bucket: 0, upUs }] }, 0, PRICE);
      const { seconds, usd, idle_share } = share.bucket(0);
      const { online, flex, batch, idle } = seconds;
      expect(online + flex + batch + idle).toBeCloseTo(upUs / 1e6, 6);
      expect(Math.min(online, flex, batch, idle)).toBeGreaterThanOrEqual(0);
      expect(idle_share).toBeLessThanOrEqual(1);
      const parts = TIERS.map((tier) => share.result((account) => account.tier === tier, 0).usd!);
      const idleUsd = (idle * 3.6) / 3600;
      expect(parts.reduce((sum, part) => sum + part, idleUsd)).toBeCloseTo(usd!, 9);
    }),
  );
});
