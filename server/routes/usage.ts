import type { RequestHandler } from "express";
import type { z } from "zod";
import { type BucketPage, bucketPage } from "../../ledger/buckets.ts";
import { costsPageOf, embeddingsPageOf, usagePageOf } from "../../ledger/report.ts";
import { invalidRequest } from "../../openapi/api-error.ts";
import {
  BUCKET_WIDTHS,
  COSTS_BUCKETS,
  costsQuery,
  embeddingsUsageQuery,
  usageQuery,
} from "../../openapi/organization-usage.ts";
import { validate } from "../../openapi/validate.ts";
import type { Store } from "../../store/store.ts";
import type { Clock } from "../dependencies.ts";
import { callerOf } from "../middleware/authentication.ts";
import { visibleOwners } from "../permission.ts";
import { readQuery } from "../query.ts";
import { sendJson } from "../respond.ts";
import { fromStore } from "../store-failure.ts";

const LISTS = ["group_by", "project_ids", "user_ids", "api_key_ids", "models"];

/** GET /v1/organization/usage/completions */
export function completionsUsage(store: Pick<Store, "usage">, clock: Clock): RequestHandler {
  return async (req, res) => {
    const query = validate(usageQuery, readQuery(req, LISTS));
    const page = pageFor(query, BUCKET_WIDTHS[query.bucket_width], clock);
    const by = new Set(query.group_by);
    const sums = await fromStore(
      store.usage.sums({
        ...page,
        kind: "completions",
        owners: visibleOwners(callerOf(req), query.project_ids ?? null),
        // Nothing is booked on a user, so a filter by user finds nothing.
        keyIds: query.user_ids !== undefined ? [] : (query.api_key_ids ?? null),
        models: query.models ?? null,
        batch: query.batch === undefined ? null : query.batch === "true",
        groupBy: {
          owner: by.has("project_id"),
          keyId: by.has("api_key_id"),
          endpoint: by.has("endpoint"),
          model: by.has("model"),
          batch: by.has("batch"),
          tier: by.has("service_tier"),
        },
      }),
    );
    sendJson(req, res, 200, JSON.stringify(usagePageOf(page, sums)));
  };
}

/** GET /v1/organization/usage/embeddings, ranks included */
export function embeddingsUsage(store: Pick<Store, "usage">, clock: Clock): RequestHandler {
  return async (req, res) => {
    const query = validate(embeddingsUsageQuery, readQuery(req, LISTS));
    const page = pageFor(query, BUCKET_WIDTHS[query.bucket_width], clock);
    const by = new Set(query.group_by);
    const sums = await fromStore(
      store.usage.sums({
        ...page,
        kind: "embeddings",
        owners: visibleOwners(callerOf(req), query.project_ids ?? null),
        keyIds: query.user_ids !== undefined ? [] : (query.api_key_ids ?? null),
        models: query.models ?? null,
        batch: null,
        groupBy: {
          owner: by.has("project_id"),
          keyId: by.has("api_key_id"),
          endpoint: by.has("endpoint"),
          model: by.has("model"),
          batch: false,
          tier: by.has("service_tier"),
        },
      }),
    );
    sendJson(req, res, 200, JSON.stringify(embeddingsPageOf(page, sums)));
  };
}

/** GET /v1/organization/costs */
export function costs(store: Pick<Store, "usage">, clock: Clock): RequestHandler {
  return async (req, res) => {
    const query = validate(costsQuery, readQuery(req, LISTS));
    const page = pageFor(query, COSTS_BUCKETS, clock);
    const by = new Set(query.group_by);
    const byItem = by.has("line_item");
    const sums = await fromStore(
      store.usage.sums({
        ...page,
        kind: null,
        owners: visibleOwners(callerOf(req), query.project_ids ?? null),
        keyIds: query.api_key_ids ?? null,
        models: null,
        batch: null,
        groupBy: {
          owner: by.has("project_id"),
          keyId: by.has("api_key_id"),
          endpoint: false,
          model: byItem,
          batch: false,
          tier: byItem,
        },
      }),
    );
    sendJson(req, res, 200, JSON.stringify(costsPageOf(page, sums, byItem)));
  };
}

interface Widths {
  seconds: number;
  limit: number;
  max: number;
}

type Range = Pick<z.infer<typeof costsQuery>, "start_time" | "end_time" | "limit" | "page">;

function pageFor(query: Range, { seconds, limit: usual, max }: Widths, clock: Clock): BucketPage {
  const limit = query.limit ?? usual;
  if (limit < 1 || limit > max) {
    throw invalidRequest("invalid_value", "limit", `Invalid 'limit': expected 1 to ${max} for this bucket_width.`);
  }
  const endTime = query.end_time ?? clock.epochSeconds() + 1;
  if (endTime <= query.start_time) {
    throw invalidRequest("invalid_value", "end_time", "Invalid 'end_time': it must be later than start_time.");
  }
  return bucketPage({ startTime: query.start_time, endTime, width: seconds, limit, page: query.page ?? null });
}
