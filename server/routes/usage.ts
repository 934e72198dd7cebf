import type { IncomingMessage, ServerResponse } from "node:http";
import type { Request, RequestHandler, Response } from "express";
import type { z } from "zod";
import { costsPageOf } from "../../ledger/costs-report.ts";
import { costsCsv, embeddingsCsv, usageCsv } from "../../ledger/csv-report.ts";
import type { Caller } from "../../ledger/key.ts";
import type { MachinePrice } from "../../ledger/prices.ts";
import { type BucketPage, bucketPage } from "../../ledger/report-buckets.ts";
import { ReportQueue } from "../../ledger/report-queue.ts";
import { embeddingsPageOf, usagePageOf } from "../../ledger/usage-report.ts";
import { invalidRequest } from "../../openapi/api-error.ts";
import { validate } from "../../openapi/generation/validate.ts";
import {
  BUCKET_WIDTHS,
  COSTS_BUCKET_WIDTHS,
  costsQuery,
  embeddingsUsageQuery,
  usageQuery,
} from "../../openapi/resources/organization-usage.ts";
import type { Clock } from "../../platform/clock.ts";
import { epochSeconds } from "../../platform/clock.ts";
import type { Store } from "../../store/store.ts";
import type { UsageQuery, UsageSum } from "../../store/tables/usage.ts";
import { visibleOwners } from "../auth/access-control.ts";
import { disconnectSignal } from "../http/connection/client-disconnect.ts";
import { ClientGone } from "../http/connection/client-gone.ts";
import { callerOf } from "../http/context/caller.ts";
import { readQuery } from "../http/query.ts";
import { sendCsv, sendJson } from "../http/respond.ts";
import type { Routes } from "../http/routes.ts";
import { fromStore } from "../http/store-error-response.ts";
import type { AppOptions } from "../options/app-options.ts";

const LISTS = ["group_by", "project_ids", "user_ids", "api_key_ids", "models"];

/** Most results of one page: about 14 MB of JSON. */
const MOST_RESULTS = 20_000;
const HOUR = 3600;

export interface UsageRouteParts {
  store: Pick<Store, "usage" | "machine">;
  clock: Clock;
  options: Pick<AppOptions, "machinePrice">;
}

export function usageRoutes({ store, clock, options }: UsageRouteParts): Routes {
  const reports = { store, queue: new ReportQueue(), clock };
  return {
    "/v1/organization/usage/completions": { get: completionsUsage(reports) },
    "/v1/organization/usage/embeddings": { get: embeddingsUsage(reports) },
    "/v1/organization/costs": { get: costs(reports, options.machinePrice) },
  };
}

interface Reports {
  store: Pick<Store, "usage" | "machine">;
  queue: ReportQueue;
  clock: Clock;
}

/** GET /v1/organization/usage/completions */
function completionsUsage(reports: Reports): RequestHandler {
  return async (req, res) => {
    const query = validate(usageQuery, readQuery(req, LISTS));
    const page = pageFor(query, BUCKET_WIDTHS[query.bucket_width], reports.clock);
    const batch = query.batch === undefined ? null : query.batch === "true";
    const wanted = { ...filtersOf(query, callerOf(req)), ...page, kind: "completions", batch } as const;
    const sums = await inTurn(reports, req, res, () => sumsOf(reports, wanted));
    sendPage(req, res, query.format, usagePageOf(page, sums), usageCsv);
  };
}

/** GET /v1/organization/usage/embeddings, ranks included */
function embeddingsUsage(reports: Reports): RequestHandler {
  return async (req, res) => {
    const query = validate(embeddingsUsageQuery, readQuery(req, LISTS));
    const page = pageFor(query, BUCKET_WIDTHS[query.bucket_width], reports.clock);
    const wanted = { ...filtersOf(query, callerOf(req)), ...page, kind: "embeddings", batch: null } as const;
    const sums = await inTurn(reports, req, res, () => sumsOf(reports, wanted));
    sendPage(req, res, query.format, embeddingsPageOf(page, sums), embeddingsCsv);
  };
}

type Filters = Pick<
  z.infer<typeof usageQuery> | z.infer<typeof embeddingsUsageQuery>,
  "project_ids" | "user_ids" | "api_key_ids" | "models" | "group_by"
>;

function filtersOf(query: Filters, caller: Caller): Pick<UsageQuery, "owners" | "keyIds" | "models" | "groupBy"> {
  const by = new Set<string>(query.group_by);
  return {
    owners: visibleOwners(caller, query.project_ids ?? null),
    // Usage is not recorded by user: a filter by user matches nothing.
    keyIds: query.user_ids !== undefined ? [] : (query.api_key_ids ?? null),
    models: query.models ?? null,
    groupBy: {
      owner: by.has("project_id"),
      keyId: by.has("api_key_id"),
      endpoint: by.has("endpoint"),
      model: by.has("model"),
      upstream: by.has("upstream"),
      version: by.has("system_fingerprint"),
      batch: by.has("batch"),
      tier: by.has("service_tier"),
    },
  };
}

/** GET /v1/organization/costs: list prices, and beside them the costs of the machine. */
function costs(reports: Reports, price: MachinePrice): RequestHandler {
  return async (req, res) => {
    const query = validate(costsQuery, readQuery(req, LISTS));
    const page = pageFor(query, COSTS_BUCKET_WIDTHS[query.bucket_width], reports.clock);
    const by = new Set(query.group_by);
    const byItem = by.has("line_item");
    const wanted: SumsQuery = {
      ...page,
      kind: null,
      owners: visibleOwners(callerOf(req), query.project_ids ?? null),
      keyIds: query.api_key_ids ?? null,
      models: null,
      batch: null,
      groupBy: {
        owner: by.has("project_id"),
        keyId: by.has("api_key_id"),
        endpoint: by.has("endpoint"),
        model: byItem || by.has("model"),
        upstream: by.has("upstream"),
        version: by.has("system_fingerprint"),
        batch: false,
        tier: byItem || by.has("service_tier"),
      },
    };
    // Machine time is not attributed to owners: only a caller that sees the costs of all owners gets it.
    const everyone = wanted.owners === null && wanted.keyIds === null;
    const [sums, machine] = await inTurn(reports, req, res, () =>
      Promise.all([sumsOf(reports, wanted), everyone ? reports.store.machine.sums(page) : null]),
    );
    const terms = { groupBy: wanted.groupBy, byItem, machine, price };
    sendPage(req, res, query.format, costsPageOf(page, sums, terms), costsCsv);
  };
}

type SumsQuery = Omit<UsageQuery, "limit">;

/** Throws 400 for more results than a page holds. */
async function sumsOf({ store }: Reports, query: SumsQuery): Promise<UsageSum[]> {
  const sums = await store.usage.sums({ ...query, limit: MOST_RESULTS + 1 });
  if (sums.length <= MOST_RESULTS) return sums;
  const message = `The page has more than ${MOST_RESULTS} results. Ask for fewer buckets with 'limit', or group by less.`;
  throw invalidRequest("too_many_results", "limit", message);
}

/** Runs a report after the caller's earlier ones. */
function inTurn<T>({ queue }: Reports, req: Request, res: Response, report: () => Promise<T>): Promise<T> {
  const gone = disconnectSignal(res);
  const running = queue.run(callerOf(req).owner, () => fromStore(report()), gone);
  return running.catch((error: unknown) => {
    throw gone.aborted ? new ClientGone() : error;
  });
}

/** Sends a page as JSON, or as CSV with the next page in a header. */
function sendPage<Page extends { next_page: string | null }>(
  req: IncomingMessage,
  res: ServerResponse,
  format: "json" | "csv",
  page: Page,
  csv: (page: Page) => string,
): void {
  if (format === "json") {
    sendJson(req, res, 200, JSON.stringify(page));
    return;
  }
  if (page.next_page !== null) res.setHeader("x-nightshift-next-page", page.next_page);
  sendCsv(req, res, csv(page));
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
  const endTime = query.end_time ?? presentEnd(epochSeconds(clock) + 1, seconds);
  if (endTime <= query.start_time) {
    throw invalidRequest("invalid_value", "end_time", "Invalid 'end_time': it must be later than start_time.");
  }
  return bucketPage({ startTime: query.start_time, endTime, width: seconds, limit, page: query.page ?? null });
}

/** Buckets of hours and days end with the current hour, so that sums are read: these outlive the ledger's rows. */
function presentEnd(now: number, width: number): number {
  return width % HOUR === 0 ? Math.ceil(now / HOUR) * HOUR : now;
}
