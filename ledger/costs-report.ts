import type { CostsBucket, CostsPage, CostsResult } from "../openapi/resources/organization-usage.ts";
import type { MachineAccount, MachineSums } from "../store/tables/machine-time.ts";
import type { UsageGroups, UsageSum } from "../store/tables/usage.ts";
import { MachineShare } from "./machine-report.ts";
import { type MachinePrice, tokensOf } from "./prices.ts";
import { type BucketPage, byBucket, pageOf } from "./report-buckets.ts";

/** The grouping of a costs page's sums, and its further contents. */
export interface CostsTerms {
  groupBy: UsageGroups;
  /** True to report model and tier as a line item. */
  byItem: boolean;
  /** Machine time; null where the costs are filtered by owner or key. */
  machine: MachineSums | null;
  price: MachinePrice;
}

/** Ledger sums in the form of OpenAI's costs page, with the machine's cost. */
export function costsPageOf(page: BucketPage, sums: readonly UsageSum[], terms: CostsTerms): CostsPage {
  const { groupBy, machine, price } = terms;
  // Machine time is not kept by these.
  const divided = groupBy.owner || groupBy.keyId || groupBy.upstream || groupBy.version;
  const within = byBucket(sums);
  return pageOf<CostsBucket>(page, (bucket) => {
    const here = within(bucket.start_time);
    const share = machine === null ? null : new MachineShare(machine, bucket.start_time, price);
    // Uncharged work took machine time too.
    const uncharged = share === null || divided ? [] : unchargedOf(share.accounts, here, bucket.start_time, groupBy);
    return {
      ...bucket,
      results: [...here, ...uncharged].map((sum) => costsResult(sum, terms, divided ? null : share)),
      nightshift: { machine: share?.bucket(here.reduce((tokens, sum) => tokens + tokensOf(sum), 0)) ?? null },
    };
  });
}

function costsResult(sum: UsageSum, { byItem }: CostsTerms, share: MachineShare | null): CostsResult {
  const tokens = tokensOf(sum);
  return {
    object: "organization.costs.result",
    amount: { value: sum.costNano / 1e9, currency: "usd" },
    line_item: byItem ? `${sum.model}, ${sum.tier}` : null,
    project_id: sum.owner,
    api_key_id: sum.keyId,
    quantity: byItem ? tokens : null,
    quantity_unit: byItem ? "tokens" : null,
    nightshift: {
      endpoint: sum.endpoint,
      upstream: sum.upstream,
      system_fingerprint: sum.version,
      model: sum.model,
      service_tier: sum.tier,
      tokens,
      cost_nano_usd: sum.costNano,
      default_cost_nano_usd: sum.defaultCostNano,
      estimated_tokens: sum.estimatedInputTokens + sum.estimatedOutputTokens,
      estimated_cost_nano_usd: sum.estimatedCostNano,
      machine: share?.result((account) => belongs(account, sum), tokens) ?? null,
    },
  };
}

/** A dimension that is not grouped by is null in a sum. */
function belongs(account: MachineAccount, { model, endpoint, tier }: UsageSum): boolean {
  return (
    (model === null || model === account.model) &&
    (endpoint === null || endpoint === account.endpoint) &&
    (tier === null || tier === account.tier)
  );
}

/** Empty sums for accounts with machine time and no ledger row, each once. */
function unchargedOf(
  accounts: readonly MachineAccount[],
  sums: readonly UsageSum[],
  bucket: number,
  groupBy: UsageGroups,
): UsageSum[] {
  const missing: UsageSum[] = [];
  for (const account of accounts) {
    if ([...sums, ...missing].some((sum) => belongs(account, sum))) continue;
    missing.push({
      bucket,
      owner: null,
      keyId: null,
      endpoint: groupBy.endpoint ? account.endpoint : null,
      model: groupBy.model ? account.model : null,
      upstream: null,
      version: null,
      batch: null,
      tier: groupBy.tier ? account.tier : null,
      requests: 0,
      inputTokens: 0,
      cachedTokens: 0,
      outputTokens: 0,
      reasoningTokens: 0,
      estimatedRequests: 0,
      estimatedInputTokens: 0,
      estimatedOutputTokens: 0,
      estimatedCostNano: 0,
      costNano: 0,
      defaultCostNano: 0,
    });
  }
  return missing;
}
