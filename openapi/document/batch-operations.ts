import { batchListQuery } from "../resources/batches.ts";
import type { Operation } from "./operation.ts";

/** Batches, and jobs: requests that run as batches of one line. */
export const batchOperations: Operation[] = [
  {
    method: "post",
    path: "/v1/batches",
    id: "createBatch",
    access: "batches",
    summary:
      "Run a file of requests within 24 hours at half price. With an Idempotency-Key, repeated calls create one batch.",
    request: "CreateBatchRequest",
    response: "Batch",
    failures: {
      "400": "The request is not valid.",
      "409": "The Idempotency-Key was used with another request.",
      "429":
        "The owner has too many open batches or enqueued tokens, or the batch costs more than the budgets have left.",
      "503": "The store is not available.",
      "507": "The disk is full.",
    },
  },
  {
    method: "get",
    path: "/v1/batches",
    id: "listBatches",
    access: "batches",
    summary: "List your batches, newest first.",
    query: batchListQuery,
    response: "BatchList",
    failures: { "400": "The query is not valid, or `after` names no batch.", "503": "The store is not available." },
  },
  {
    method: "get",
    path: "/v1/batches/:id",
    id: "retrieveBatch",
    access: "batches",
    summary: "Retrieve a batch: its status, its progress, and why it waits.",
    response: "Batch",
    failures: { "404": "No such batch.", "503": "The store is not available." },
  },
  {
    method: "post",
    path: "/v1/batches/:id/cancel",
    id: "cancelBatch",
    access: "batches",
    summary: "Cancel a batch. The results of finished lines are kept in its files.",
    response: "Batch",
    failures: { "404": "No such batch.", "409": "The batch has ended.", "503": "The store is not available." },
  },
  {
    method: "get",
    path: "/v1/nightshift/jobs/:id",
    id: "retrieveJob",
    access: "inference",
    summary: "Retrieve a job: its status with 202 while it has not ended, then the response to its request.",
    response: "object",
    accepted: "Job",
    failures: {
      "400": "The request failed; any other status of its endpoint is possible too.",
      "404": "No such job.",
      "410": "The job was cancelled, or its result was deleted.",
      "503": "The store is not available.",
      "504": "The job did not run in time.",
    },
  },
  {
    method: "delete",
    path: "/v1/nightshift/jobs/:id",
    id: "removeJob",
    access: "inference",
    summary: "Cancel a job that has not ended. Of an ended job, delete the request and the result.",
    response: "Job",
    failures: { "404": "No such job.", "503": "The store is not available." },
  },
];
