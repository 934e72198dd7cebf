import type { z } from "zod";
import { batchListQuery } from "./batches.ts";
import { fileListQuery } from "./files.ts";
import { costsQuery, embeddingsUsageQuery, usageQuery } from "./organization-usage.ts";

/** One method of one path, as the document tells it; a test holds this list against what the router serves. */
export interface Operation {
  method: "get" | "post" | "delete";
  /** With parameters as the router writes them, `:model`. */
  path: string;
  id: string;
  summary: string;
  /** Name of the request body's schema. */
  request?: string;
  /** Name of the schema of a request body that is a multipart form. */
  form?: string;
  /** Schema of the query. */
  query?: z.ZodObject;
  /** Name of the schema of a 200, or `text`, or `bytes`, or `object` for any. */
  response: string;
  /** Name of the schema of a 202. */
  accepted?: string;
  /** Name of the schema of each `data:` of a stream. */
  stream?: string;
  /** Statuses beside 200, with an Error body. */
  failures: Record<string, string>;
  /** Name of a 503's schema where it is not an Error. */
  unready?: string;
  /** A bearer token may be needed. */
  bearer?: true;
}

const generationFailures = {
  "400": "The request is not valid, names something unsupported, or is longer than the context.",
  "404": "No such model.",
  "413": "The body is too large.",
  "415": "The body is not JSON, or is compressed.",
  "429": "There is no room for flex requests; not charged, see Retry-After.",
  "500": "The engine failed.",
  "503": "The model is not ready, or too many requests wait; see Retry-After.",
};

const storageFailures = {
  "400": "The request is not valid.",
  "413": "It is too large.",
  "415": "The body is of another type, or compressed.",
  "503": "The store does not work.",
  "507": "No room: on the disk, or in your quota.",
};

const fileFailures = { "404": "No such file.", "503": "The store does not work." };

export const operations: readonly Operation[] = [
  {
    method: "post",
    path: "/v1/chat/completions",
    id: "createChatCompletion",
    summary: "Answer a conversation, whole or as a stream of server-sent events that ends with [DONE].",
    request: "ChatCompletionRequest",
    response: "ChatCompletion",
    accepted: "Job",
    stream: "ChatCompletionChunk",
    failures: generationFailures,
  },
  {
    method: "post",
    path: "/v1/completions",
    id: "createCompletion",
    summary: "Continue one or more prompts, whole or as a stream.",
    request: "CompletionRequest",
    response: "Completion",
    accepted: "Job",
    stream: "CompletionChunk",
    failures: generationFailures,
  },
  {
    method: "post",
    path: "/v1/embeddings",
    id: "createEmbeddings",
    summary: "The meaning of one or more texts, as a vector each.",
    request: "EmbeddingsRequest",
    response: "Embeddings",
    failures: generationFailures,
  },
  {
    method: "post",
    path: "/v1/rerank",
    id: "rerank",
    summary: "How relevant documents are to a query, by a model that ranks.",
    request: "RerankRequest",
    response: "Ranks",
    failures: generationFailures,
  },
  {
    method: "get",
    path: "/v1/models",
    id: "listModels",
    summary: "The models of this server.",
    response: "ModelList",
    failures: {},
  },
  {
    method: "get",
    path: "/v1/models/:model",
    id: "retrieveModel",
    summary: "One model.",
    response: "Model",
    failures: { "404": "No such model." },
  },
  {
    method: "post",
    path: "/v1/files",
    id: "createFile",
    summary: "Upload a file. Answered when it is durable.",
    form: "CreateFileForm",
    response: "File",
    failures: { ...storageFailures, "408": "The body comes too slowly." },
  },
  {
    method: "get",
    path: "/v1/files",
    id: "listFiles",
    summary: "Your files, the newest first.",
    query: fileListQuery,
    response: "FileList",
    failures: { "400": "The query is not valid, or `after` names no file.", "503": "The store does not work." },
  },
  {
    method: "get",
    path: "/v1/files/:file",
    id: "retrieveFile",
    summary: "One file.",
    response: "File",
    failures: fileFailures,
  },
  {
    method: "delete",
    path: "/v1/files/:file",
    id: "deleteFile",
    summary: "Delete a file, and every copy of it.",
    response: "FileDeleted",
    failures: { ...fileFailures, "409": "A batch that is not over reads the file." },
  },
  {
    method: "get",
    path: "/v1/files/:file/content",
    id: "downloadFile",
    summary: "The bytes of a file, whole or a range.",
    response: "bytes",
    failures: { ...fileFailures, "416": "The range lies outside of the file." },
  },
  {
    method: "post",
    path: "/v1/uploads",
    id: "createUpload",
    summary: "Begin a file that comes in parts, within an hour.",
    request: "CreateUploadRequest",
    response: "Upload",
    failures: storageFailures,
  },
  {
    method: "post",
    path: "/v1/uploads/:upload/parts",
    id: "addUploadPart",
    summary: "Add a part; parts may come side by side and in any order.",
    form: "AddUploadPartForm",
    response: "UploadPart",
    failures: { ...storageFailures, "404": "No such upload.", "408": "The body comes too slowly." },
  },
  {
    method: "post",
    path: "/v1/uploads/:upload/complete",
    id: "completeUpload",
    summary: "Put the parts together, in the given order, as a file. A repeated call gets the same file.",
    request: "CompleteUploadRequest",
    response: "Upload",
    failures: { ...storageFailures, "404": "No such upload." },
  },
  {
    method: "post",
    path: "/v1/uploads/:upload/cancel",
    id: "cancelUpload",
    summary: "Give an upload up.",
    response: "Upload",
    failures: {
      "400": "The upload is completed or expired.",
      "404": "No such upload.",
      "503": "The store does not work.",
    },
  },
  {
    method: "post",
    path: "/v1/batches",
    id: "createBatch",
    summary:
      "Run a file of requests within 24 hours at half price. With an Idempotency-Key, once however often it is sent.",
    request: "CreateBatchRequest",
    response: "Batch",
    failures: {
      "400": "The request is not valid.",
      "409": "The Idempotency-Key was used with another request.",
      "429": "As many of this owner's batches as may be are not over.",
      "503": "The store does not work.",
      "507": "The disk is full.",
    },
  },
  {
    method: "get",
    path: "/v1/batches",
    id: "listBatches",
    summary: "Your batches, the newest first.",
    query: batchListQuery,
    response: "BatchList",
    failures: { "400": "The query is not valid, or `after` names no batch.", "503": "The store does not work." },
  },
  {
    method: "get",
    path: "/v1/batches/:id",
    id: "retrieveBatch",
    summary: "One batch: its state, how far it is, and why it waits.",
    response: "Batch",
    failures: { "404": "No such batch.", "503": "The store does not work." },
  },
  {
    method: "post",
    path: "/v1/batches/:id/cancel",
    id: "cancelBatch",
    summary: "Stop a batch; what has finished stays and is in its files.",
    response: "Batch",
    failures: { "404": "No such batch.", "409": "The batch is over.", "503": "The store does not work." },
  },
  {
    method: "get",
    path: "/v1/nightshift/jobs/:id",
    id: "retrieveJob",
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
    summary: "Cancel a job that is not over; delete the request and the result of one that is.",
    response: "Job",
    failures: { "404": "No such job.", "503": "The store does not work." },
  },
  {
    method: "get",
    path: "/v1/organization/usage/completions",
    id: "completionsUsage",
    summary: "Tokens and requests by time, from the ledger.",
    query: usageQuery,
    response: "UsagePage",
    failures: { "400": "The query is not valid.", "503": "The store does not work." },
  },
  {
    method: "get",
    path: "/v1/organization/usage/embeddings",
    id: "embeddingsUsage",
    summary: "Tokens and requests of embeddings and ranks by time, from the ledger.",
    query: embeddingsUsageQuery,
    response: "EmbeddingsUsagePage",
    failures: { "400": "The query is not valid.", "503": "The store does not work." },
  },
  {
    method: "get",
    path: "/v1/organization/costs",
    id: "costs",
    summary: "What was spent by day, from the ledger.",
    query: costsQuery,
    response: "CostsPage",
    failures: { "400": "The query is not valid.", "503": "The store does not work." },
  },
  {
    method: "get",
    path: "/v1/nightshift/engine",
    id: "engines",
    summary:
      "Of each model's engine: the step model, the caps it implies, what tokens cost by batch size, and its load.",
    response: "EngineList",
    failures: {},
  },
  {
    method: "get",
    path: "/health",
    id: "health",
    summary: "The process answers.",
    response: "Health",
    failures: {},
  },
  {
    method: "get",
    path: "/ready",
    id: "ready",
    summary: "Every model is loaded and the store writes; else what each is waiting for.",
    response: "Readiness",
    unready: "Readiness",
    failures: { "503": "A model or the store is not ready, or the server is shutting down." },
  },
  {
    method: "get",
    path: "/metrics",
    id: "metrics",
    summary: "Metrics in Prometheus' text format. Open when the server is bound to loopback.",
    response: "text",
    bearer: true,
    failures: { "401": "The metrics token is missing or wrong." },
  },
  {
    method: "get",
    path: "/openapi.json",
    id: "openapi",
    summary: "This document.",
    response: "object",
    failures: {},
  },
];
