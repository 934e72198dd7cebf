import { costsQuery, embeddingsUsageQuery, usageQuery } from "../resources/organization-usage.ts";
import type { Operation } from "./operation.ts";

const failures = {
  "400": "The query is not valid, or has more results than a page holds.",
  "429": "Too many reports of yours wait already.",
  "503": "The store does not work.",
};

/** What the ledger tells. */
export const organizationOperations: readonly Operation[] = [
  {
    method: "get",
    path: "/v1/organization/usage/completions",
    id: "completionsUsage",
    access: "usage",
    summary: "Tokens and requests by time, from the ledger.",
    query: usageQuery,
    response: "UsagePage",
    failures,
  },
  {
    method: "get",
    path: "/v1/organization/usage/embeddings",
    id: "embeddingsUsage",
    access: "usage",
    summary: "Tokens and requests of embeddings and ranks by time, from the ledger.",
    query: embeddingsUsageQuery,
    response: "EmbeddingsUsagePage",
    failures,
  },
  {
    method: "get",
    path: "/v1/organization/costs",
    id: "costs",
    access: "usage",
    summary: "What was spent by day, from the ledger.",
    query: costsQuery,
    response: "CostsPage",
    failures,
  },
];
