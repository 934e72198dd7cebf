import { costsQuery, embeddingsUsageQuery, usageQuery } from "../resources/organization-usage.ts";
import type { Operation } from "./operation.ts";

const failures = {
  "400": "The query is not valid, or a page would have too many results.",
  "429": "Too many of your reports wait.",
  "503": "The store is not available.",
};

/** Reports of the ledger. */
export const organizationOperations: readonly Operation[] = [
  {
    method: "get",
    path: "/v1/organization/usage/completions",
    id: "completionsUsage",
    access: "usage",
    summary: "Report tokens and requests of completions by time.",
    query: usageQuery,
    response: "UsagePage",
    failures,
  },
  {
    method: "get",
    path: "/v1/organization/usage/embeddings",
    id: "embeddingsUsage",
    access: "usage",
    summary: "Report tokens and requests of embeddings and ranks by time.",
    query: embeddingsUsageQuery,
    response: "EmbeddingsUsagePage",
    failures,
  },
  {
    method: "get",
    path: "/v1/organization/costs",
    id: "costs",
    access: "usage",
    summary: "Report costs by day or hour.",
    query: costsQuery,
    response: "CostsPage",
    failures,
  },
];
