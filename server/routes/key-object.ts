import { type Budget, keyOf } from "../../ledger/key.ts";
import { NO_TERMS } from "../../ledger/key-ring.ts";
import { type CreateKey, DEFAULT_SCOPES, type KeyObject, type UpdateKey } from "../../openapi/resources/keys.ts";
import type { KeyRow, KeyTermsRow } from "../../store/types/key-row.ts";

const NANO = 1e9;

/** The API object of a key. `secret` is returned once, by the request that creates it. */
export function keyObject(row: KeyRow, secret?: string): KeyObject {
  const { scopes, models, tiers, limits, budget } = keyOf(row);
  return {
    id: row.id,
    object: "nightshift.key",
    name: row.name,
    owner: row.owner,
    prefix: `ns_${row.prefix}`,
    ...(secret !== undefined && { key: secret }),
    scopes: [...scopes],
    models: models === null ? null : [...models],
    tiers: [...tiers],
    metadata: row.metadata === null ? null : JSON.parse(row.metadata),
    requests_per_minute: limits.requestsPerMinute,
    tokens_per_minute: limits.tokensPerMinute,
    concurrent: limits.concurrent,
    enqueued_tokens: limits.enqueuedTokens,
    storage_bytes: limits.storageBytes,
    budget: budgetObject(budget),
    created_at: row.createdAt,
    expires_at: row.expiresAt,
    revoked_at: row.revokedAt,
    last_used_at: row.lastUsedAt,
  };
}

/** The columns of a new key. */
export function termsOf(body: CreateKey): KeyTermsRow {
  const changes = changesOf({ ...body, scopes: body.scopes ?? [...DEFAULT_SCOPES] });
  return { ...NO_TERMS, scopes: "[]", name: body.name, ...changes };
}

/** The columns of the fields that a request has. */
export function changesOf(body: UpdateKey): Partial<KeyTermsRow> {
  const { budget } = body;
  const changes: { [K in keyof KeyTermsRow]: KeyTermsRow[K] | undefined } = {
    name: body.name,
    scopes: body.scopes === undefined ? undefined : JSON.stringify(unique(body.scopes)),
    models: asJson(body.models),
    tiers: asJson(body.tiers),
    metadata: asJson(body.metadata),
    expiresAt: body.expires_at,
    requestsPerMinute: body.requests_per_minute,
    tokensPerMinute: body.tokens_per_minute,
    concurrent: body.concurrent,
    enqueuedTokens: body.enqueued_tokens,
    storageBytes: body.storage_bytes,
    ...budgetColumns(budget),
  };
  return given(changes);
}

export function budgetObject({ dailyNano, monthlyNano, softRatio }: Budget): KeyObject["budget"] {
  return { daily_usd: inUsd(dailyNano), monthly_usd: inUsd(monthlyNano), soft_ratio: softRatio };
}

/** The changes of a budget by the fields that a request has; null removes all bounds. */
export function budgetChanges(budget: UpdateKey["budget"]): Partial<Budget> {
  return given(budgetColumns(budget));
}

function budgetColumns(budget: UpdateKey["budget"]): { [K in keyof Budget]: Budget[K] | undefined } {
  return {
    dailyNano: budget === null ? null : inNano(budget?.daily_usd),
    monthlyNano: budget === null ? null : inNano(budget?.monthly_usd),
    softRatio: budget === null ? null : budget?.soft_ratio,
  };
}

function given<T extends object>(changes: { [K in keyof T]: T[K] | undefined }): Partial<T> {
  const entries = Object.entries(changes).filter(([, value]) => value !== undefined);
  // Only names of T remain.
  return Object.fromEntries(entries) as Partial<T>;
}

function asJson(value: readonly string[] | object | null | undefined): string | null | undefined {
  if (value === undefined || value === null) return value;
  return JSON.stringify(Array.isArray(value) ? unique(value) : value);
}

function unique<T>(values: readonly T[]): T[] {
  return [...new Set(values)];
}

function inNano(usd: number | null | undefined): number | null | undefined {
  return usd === undefined || usd === null ? usd : Math.round(usd * NANO);
}

function inUsd(nano: number | null): number | null {
  return nano === null ? null : nano / NANO;
}
