import { batchListQuery } from "../resources/batches.ts";
import type { Operation } from "./operation.ts";

/** Batches, and requests that were put off. */
export const batchOperations: Operation[] = [
  {
    method: "post",
    path: "/v1/batches",
    id: "createBatch",
    access: "batches",
    summary:
      "Run a file of requests within 24 hours at half price. With an Idempotency-Key, once however often it is sent.",
    request: "CreateBatchRequest",
    response: "Batch",
    failures: {
      "400": "The request is not valid.",
      "409": "The Idempotency-Key was used with another request.",
      "429": "As many batches as may be are not over, or their tokens, or this one costs more than budgets leave.",
      "503": "The store does not work.",
      "507": "The disk is full.",
    },
  },
  {
    method: "get",
    path: "/v1/batches",
    id: "listBatches",
    access: "batches",
    summary: "Your batches, the newest first.",
    query: batchListQuery,
    response: "BatchList",
    failures: { "400": "The query is not valid, or `after` names no batch.", "503": "The store does not work." },
  },
  {
    method: "get",
    path: "/v1/batches/:id",
    id: "retrieveBatch",
    access: "batches",
    summary: "One batch: its state, how far it is, and why it waits.",
    response: "Batch",
    failures: { "404": "No such batch.", "503": "The store does not work." },
  },
  {
    method: "post",
    path: "/v1/batches/:id/cancel",
    id: "cancelBatch",
    access: "batches",
    summary: "Stop a batch; what has finished stays and is in its files.",
    response: "Batch",
    failures: { "404": "No such batch.", "409": "The batch is over.", "503": "The store does not work." },
  },
  {
    method: "get",
    path: "/v1/nightshift/jobs/:id",
    id: "retrieveJob",
    access: "inference",
    summary: "Where a request stands that was put off; once it is over, what it would have been answered.",
    response: "object",
    accepted: "Job",
    failures: {
      "400": "Or whatever else the request is answered with.",
      "404": "No such job.",
      "410": "It was cancelled, or its result deleted.",
      "503": "The store does not work.",
      "504": "It did not run in time.",
    },
  },
  {
    method: "delete",
    path: "/v1/nightshift/jobs/:id",
    id: "removeJob",
    access: "inference",
    summary: "Cancel a job that is not over; delete the request and the result of one that is.",
    response: "Job",
    failures: { "404": "No such job.", "503": "The store does not work." },
  },
];
