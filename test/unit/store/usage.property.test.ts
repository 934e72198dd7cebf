import type { Database } from "better-sqlite3";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { LedgerRow } from "../../../store/tables/ledger.ts";
import type { UsageQuery, UsageSum } from "../../../store/tables/usage.ts";
import { memoryTables } from "./memory-tables.ts";
import { ledgerRow } from "./rows.ts";

const HOUR = 3600;
const SPAN = 3 * 24 * HOUR;

const time = fc.oneof(
  fc.nat(SPAN),
  fc.nat(SPAN / HOUR).map((hour) => hour * HOUR),
  fc.nat(SPAN / HOUR).map((hour) => hour * HOUR + HOUR - 1),
);
/** The upstreams that versions name. */
const UPSTREAMS: Record<string, string | null> = {
  fp_1: null,
  fp_9b0a151c453c: null,
  fp_gpu_48a1948cf9fb: "gpu",
  fp_gpu_2_0123456789ab: "gpu_2",
  fp_a_0123456789ab: "a",
};
const row: fc.Arbitrary<Partial<LedgerRow>> = fc.record({
  time,
  owner: fc.constantFrom("a", "b"),
  keyId: fc.constantFrom(null, "key_1", "key_2"),
  endpoint: fc.constantFrom("/v1/chat/completions", "/v1/embeddings"),
  model: fc.constantFrom("demo", "other"),
  version: fc.constantFrom(...Object.keys(UPSTREAMS)),
  tier: fc.constantFrom("default", "flex", "batch"),
  batchId: fc.constantFrom(null, "batch_1"),
  inputTokens: fc.nat(1000),
  reasoningTokens: fc.nat(10),
  estimated: fc.constantFrom(0, 1),
  costNano: fc.nat(1e12),
});
const UPSTREAM = `CASE version ${Object.entries(UPSTREAMS)
  .map(([version, name]) => `WHEN '${version}' THEN ${name === null ? "NULL" : `'${name}'`}`)
  .join(" ")} END`;
const some = <T>(...values: T[]) => fc.option(fc.uniqueArray(fc.constantFrom(...values)), { nil: null });
const query: fc.Arbitrary<UsageQuery> = fc
  .record({
    start: time,
    end: time,
    width: fc.constantFrom(60, HOUR, 24 * HOUR),
    kind: fc.constantFrom(null, "completions" as const, "embeddings" as const),
    owners: some("a", "b", "c"),
    keyIds: some("key_1", "key_3", ""),
    models: some("demo"),
    batch: fc.constantFrom(null, true, false),
    groupBy: fc.record({
      owner: fc.boolean(),
      keyId: fc.boolean(),
      endpoint: fc.boolean(),
      model: fc.boolean(),
      upstream: fc.boolean(),
      version: fc.boolean(),
      batch: fc.boolean(),
      tier: fc.boolean(),
    }),
  })
  .map((made) => ({ ...made, limit: 10_000 }));

test("sums from hours and rows equal sums from rows alone", () => {
  fc.assert(
    fc.property(fc.array(row, { maxLength: 40 }), fc.array(query, { minLength: 1, maxLength: 10 }), (rows, queries) => {
      const { db, ledger, usage } = memoryTables();
      ledger.writes.insert({
        rows: rows.map((changed, index) => ledgerRow({ ...changed, line: changed.batchId == null ? null : index + 1 })),
      });
      for (const asked of queries) expect(usage.reports.sums(asked)).toEqual(plainSums(db, asked));
      db.close();
    }),
    { numRuns: 60 },
  );
});

test("the number of sums is limited", () => {
  const { ledger, usage } = memoryTables();
  ledger.writes.insert({ rows: [0, 1, 2, 3].map((hour) => ledgerRow({ time: hour * HOUR })) });
  const all = { owner: false, keyId: false, endpoint: false, model: false, batch: false, tier: false };
  const none = { owners: null, keyIds: null, models: null, batch: null, kind: null, groupBy: all };
  const sums = usage.reports.sums({ ...none, start: 0, end: SPAN, width: HOUR, limit: 3 });
  expect(sums.map(({ bucket }) => bucket)).toEqual([0, HOUR, 2 * HOUR]);
});

/** The expected sums: one statement over all rows of the ledger. */
function plainSums(db: Database, { groupBy, owners, keyIds, models, batch, kind, start, end, width }: UsageQuery) {
  const by = (asked: boolean | undefined, column: string) => (asked ? column : "NULL");
  const within = (values: string[] | null, column: string) =>
    values === null ? "TRUE" : `${column} IN (${values.map((value) => `'${value}'`).join(",")})`;
  return db
    .prepare<[], UsageSum>(
      `SELECT time - time % ${width} AS bucket, ${by(groupBy.owner, "owner")} AS owner,
         ${by(groupBy.keyId, "key_id")} AS keyId, ${by(groupBy.endpoint, "endpoint")} AS endpoint,
         ${by(groupBy.model, "model")} AS model,
         ${by(groupBy.upstream, UPSTREAM)} AS upstream, ${by(groupBy.version, "version")} AS version, ${by(groupBy.batch, "batch_id IS NOT NULL")} AS batch,
         ${by(groupBy.tier, "tier")} AS tier, count(*) AS requests, sum(input_tokens) AS inputTokens,
         sum(cached_tokens) AS cachedTokens, sum(output_tokens) AS outputTokens,
         sum(reasoning_tokens) AS reasoningTokens, sum(estimated) AS estimatedRequests,
         sum(iif(estimated, input_tokens, 0)) AS estimatedInputTokens,
         sum(iif(estimated, output_tokens, 0)) AS estimatedOutputTokens,
         sum(iif(estimated, cost_nano, 0)) AS estimatedCostNano, sum(cost_nano) AS costNano,
         sum(default_cost_nano) AS defaultCostNano
       FROM ledger WHERE time >= ${start} AND time < ${end} AND ${within(owners, "owner")}
         AND ${within(keyIds, "key_id")} AND ${within(models, "model")}
         AND ${batch === null ? "TRUE" : `(batch_id IS NOT NULL) = ${Number(batch)}`}
         AND ${kind === null ? "TRUE" : `(endpoint = '/v1/embeddings') = ${Number(kind === "embeddings")}`}
       GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9 ORDER BY 1, 2, 3, 4, 5, 6, 7, 8, 9`,
    )
    .all();
}
