import { readinessQuery } from "../resources/health.ts";
import { batchOperations } from "./batch-operations.ts";
import { fileOperations } from "./file-operations.ts";
import { keyOperations } from "./key-operations.ts";
import { messageOperations } from "./message-operations.ts";
import { modelFileOperations } from "./model-file-operations.ts";
import { ollamaOperations } from "./ollama-operations.ts";
import type { Operation } from "./operation.ts";
import { organizationOperations } from "./organization-operations.ts";
import { ownerOperations } from "./owner-operations.ts";
import { responseOperations } from "./response-operations.ts";
import { storedOperations } from "./stored-operations.ts";
import { tokenOperations } from "./tokenize-operations.ts";

const generationFailures = {
  "400": "The request is not valid, uses an unsupported feature, or exceeds the context.",
  "404": "No such model.",
  "413": "The body is too large.",
  "415": "The body is not JSON, or its encoding is not supported.",
  "429": "A limit or budget of the API key is reached, or the queue wait of a flex request is too long. Not charged.",
  "500": "The engine failed.",
  "503": "The model is not ready, or too many requests wait. See Retry-After.",
};

export const operations: readonly Operation[] = [
  {
    method: "post",
    path: "/v1/chat/completions",
    id: "createChatCompletion",
    access: "inference",
    summary: "Answer a conversation, in one response or as a stream of server-sent events that ends with [DONE].",
    request: "ChatCompletionRequest",
    response: "ChatCompletion",
    dryRun: "DryRun",
    accepted: "Job",
    stream: "ChatCompletionChunk",
    failures: generationFailures,
  },
  {
    method: "post",
    path: "/v1/completions",
    id: "createCompletion",
    access: "inference",
    summary: "Continue one or more prompts, in one response or as a stream.",
    request: "CompletionRequest",
    response: "Completion",
    dryRun: "DryRun",
    accepted: "Job",
    stream: "CompletionChunk",
    failures: generationFailures,
  },
  {
    method: "post",
    path: "/infill",
    id: "infill",
    access: "inference",
    summary:
      "Generate the text between a prefix and a suffix, in one response or as a stream. llama-server's endpoint.",
    request: "InfillRequest",
    response: "Infill",
    dryRun: "DryRun",
    stream: "InfillEvent",
    failures: generationFailures,
  },
  ...messageOperations,
  ...responseOperations(generationFailures),
  ...["/v1", ""].flatMap(tokenOperations),
  {
    method: "post",
    path: "/v1/embeddings",
    id: "createEmbeddings",
    access: "inference",
    summary: "Compute an embedding vector for each of one or more texts.",
    request: "EmbeddingsRequest",
    response: "Embeddings",
    failures: generationFailures,
  },
  {
    method: "post",
    path: "/v1/rerank",
    id: "rerank",
    access: "inference",
    summary: "Rank documents by their relevance to a query.",
    request: "RerankRequest",
    response: "Ranks",
    failures: generationFailures,
  },
  {
    method: "get",
    path: "/v1/models",
    id: "listModels",
    access: "key",
    summary: "List the models of this server.",
    response: "ModelList",
    failures: {},
  },
  {
    method: "get",
    path: "/v1/models/:model",
    id: "retrieveModel",
    access: "key",
    summary: "Retrieve a model.",
    response: "Model",
    failures: { "404": "No such model." },
  },
  ...fileOperations,
  ...batchOperations,
  ...organizationOperations,
  ...keyOperations,
  ...ownerOperations,
  ...storedOperations,
  ...modelFileOperations,
  ...ollamaOperations,
  {
    method: "get",
    path: "/v1/nightshift/engine",
    id: "engines",
    access: "admin",
    summary:
      "Report the engine of each model: its step model, the caps derived from it, the cost of tokens by batch size, its load.",
    response: "EngineList",
    failures: {},
  },
  {
    method: "get",
    path: "/v1/nightshift/upstreams",
    id: "upstreams",
    access: "admin",
    summary: "Report each upstream: its models, and health, load, limit and breaker of each replica.",
    response: "UpstreamList",
    failures: {},
  },
  {
    method: "get",
    path: "/v1/nightshift/routes",
    id: "routes",
    access: "admin",
    summary:
      "Report each route: the state, wait and learned cost of its models, where its requests went, and what that saved.",
    response: "RouteList",
    failures: {},
  },
  {
    method: "get",
    path: "/",
    id: "welcome",
    access: "open",
    summary:
      "Describe this server and how to call it: HTML for browsers, JSON for clients that accept only JSON, else text.",
    response: "text",
    failures: {},
  },
  {
    method: "get",
    path: "/health",
    id: "health",
    access: "open",
    summary: "Check that the server process answers.",
    response: "Health",
    failures: {},
  },
  {
    method: "get",
    path: "/ready",
    id: "ready",
    access: "open",
    summary:
      "Check that a model (with `strict`, every model) is ready and the store takes writes. The response has the state of each.",
    query: readinessQuery,
    response: "Readiness",
    unready: "Readiness",
    failures: {
      "503":
        "No model is ready (with `strict`, a model is not), the store takes no writes, or the server is shutting down.",
    },
  },
  {
    method: "get",
    path: "/metrics",
    id: "metrics",
    access: "token",
    summary: "Metrics in the text format of Prometheus. Without a metrics token, open on loopback only.",
    response: "text",
    failures: { "401": "The metrics token is missing or wrong." },
  },
  {
    method: "get",
    path: "/openapi.json",
    id: "openapi",
    access: "open",
    summary: "This document.",
    response: "object",
    failures: {},
  },
];
