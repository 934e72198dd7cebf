import type { z } from "zod";
import { costsQuery, usageQuery } from "./organization-usage.ts";

/** One method of one path, as the document tells it; a test holds this list against what the router serves. */
export interface Operation {
  method: "get" | "post";
  /** With parameters as the router writes them, `:model`. */
  path: string;
  id: string;
  summary: string;
  /** Name of the request body's schema. */
  request?: string;
  /** Schema of the query. */
  query?: z.ZodObject;
  /** Name of the schema of a 200, or `text`, or `object` for any. */
  response: string;
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
  "500": "The engine failed.",
  "503": "The model is not ready, or too many requests wait; see Retry-After.",
};

export const operations: readonly Operation[] = [
  {
    method: "post",
    path: "/v1/chat/completions",
    id: "createChatCompletion",
    summary: "Answer a conversation, whole or as a stream of server-sent events that ends with [DONE].",
    request: "ChatCompletionRequest",
    response: "ChatCompletion",
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
    stream: "CompletionChunk",
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
    path: "/v1/organization/costs",
    id: "costs",
    summary: "What was spent by day, from the ledger.",
    query: costsQuery,
    response: "CostsPage",
    failures: { "400": "The query is not valid.", "503": "The store does not work." },
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
