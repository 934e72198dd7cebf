import { z } from "zod";
import { messageBatch, messageBatchDeleted, messageBatchPage, messageBatchRequest } from "../anthropic/batches.ts";
import { anthropicError } from "../anthropic/error.ts";
import { message, messageEvent } from "../anthropic/message.ts";
import { countTokensRequest, messagesRequest, tokenCount } from "../anthropic/messages.ts";
import { errorResponse } from "../error-response.ts";
import { chatChunk, chatRequest, chatResponse } from "../generation/chat.ts";
import { completionChunk, completionRequest, completionResponse } from "../generation/completions.ts";
import { dryRunResponse } from "../generation/dry-run.ts";
import { infillEvent, infillRequest, infillResponse } from "../infill/infill.ts";
import { ollamaChatAnswer, ollamaChatRequest } from "../ollama/chat.ts";
import {
  ollamaEmbedAnswer,
  ollamaEmbeddingsAnswer,
  ollamaEmbeddingsRequest,
  ollamaEmbedRequest,
} from "../ollama/embed.ts";
import { ollamaError } from "../ollama/error.ts";
import { ollamaGenerateAnswer, ollamaGenerateRequest } from "../ollama/generate.ts";
import {
  ollamaLoaded,
  ollamaModel,
  ollamaPullRequest,
  ollamaShowRequest,
  ollamaStatus,
  ollamaTags,
  ollamaVersion,
} from "../ollama/models.ts";
import { queryProperties } from "../query-value.ts";
import type { RequestLimits } from "../request-limits.ts";
import { batch, batchList, batchRequest } from "../resources/batches.ts";
import { embeddingsRequest, embeddingsResponse } from "../resources/embeddings.ts";
import { engineList } from "../resources/engine.ts";
import { createFileForm, file, fileDeleted, fileList } from "../resources/files.ts";
import { health, readiness } from "../resources/health.ts";
import { job } from "../resources/jobs.ts";
import { createKey, key, keyDeleted, keyList, rotateKey, updateKey } from "../resources/keys.ts";
import {
  createDownload,
  modelDownload,
  modelDownloadList,
  modelFileDeleted,
  modelFileDetails,
  modelFileList,
} from "../resources/model-files.ts";
import { model, modelList } from "../resources/models.ts";
import { costsPage, embeddingsUsagePage, usagePage } from "../resources/organization-usage.ts";
import { owner, updateOwner } from "../resources/owners.ts";
import { rerankRequest, rerankResponse } from "../resources/rerank.ts";
import { detokenizeRequest, detokenizeResponse, tokenizeRequest, tokenizeResponse } from "../resources/tokenize.ts";
import { addUploadPartForm, completeUpload, createUpload, upload, uploadPart } from "../resources/uploads.ts";
import { upstreamList } from "../resources/upstreams.ts";
import { compactedResponse, compactRequest } from "../responses/compact.ts";
import { responseStreamEvent } from "../responses/events.ts";
import { item } from "../responses/item.ts";
import { inputTokensRequest, responsesRequest } from "../responses/request.ts";
import { inputTokens, responseObject } from "../responses/response.ts";
import {
  completionDeleted,
  storedCompletion,
  storedCompletionList,
  storedMessageList,
  updateCompletion,
} from "../stored/completions.ts";
import {
  conversation,
  conversationDeleted,
  createConversation,
  createItems,
  updateConversation,
} from "../stored/conversations.ts";
import { itemList, responseDeleted } from "../stored/items.ts";
import type { Operation } from "./operation.ts";
import { operations } from "./operations.ts";

type Json = Record<string, unknown>;

/** The OpenAPI 3.1 document, made from the schemas that validate requests. */
export function openApiDocument(limits: RequestLimits, version: string): Json {
  const schemas = {
    ...componentSchemas("input", {
      ChatCompletionRequest: chatRequest(limits),
      CompletionRequest: completionRequest(limits),
      InfillRequest: infillRequest(limits),
      MessagesRequest: messagesRequest(limits),
      CountTokensRequest: countTokensRequest(limits),
      CreateMessageBatchRequest: messageBatchRequest,
      CreateResponseRequest: responsesRequest(limits),
      InputTokensRequest: inputTokensRequest(limits),
      CompactRequest: compactRequest(limits),
      TokenizeRequest: tokenizeRequest(limits),
      DetokenizeRequest: detokenizeRequest(limits),
      EmbeddingsRequest: embeddingsRequest(limits),
      RerankRequest: rerankRequest(limits),
      CreateFileForm: createFileForm,
      CreateUploadRequest: createUpload,
      AddUploadPartForm: addUploadPartForm,
      CompleteUploadRequest: completeUpload,
      CreateBatchRequest: batchRequest,
      CreateKeyRequest: createKey,
      UpdateKeyRequest: updateKey,
      RotateKeyRequest: rotateKey,
      UpdateOwnerRequest: updateOwner,
      CreateDownloadRequest: createDownload,
      OllamaChatRequest: ollamaChatRequest(limits),
      OllamaGenerateRequest: ollamaGenerateRequest(limits),
      OllamaEmbedRequest: ollamaEmbedRequest(limits),
      OllamaEmbeddingsRequest: ollamaEmbeddingsRequest(limits),
      OllamaShowRequest: ollamaShowRequest,
      OllamaPullRequest: ollamaPullRequest,
      UpdateChatCompletionRequest: updateCompletion,
      CreateConversationRequest: createConversation(limits),
      UpdateConversationRequest: updateConversation,
      CreateConversationItemsRequest: createItems(limits),
    }),
    ...componentSchemas("output", {
      ChatCompletion: chatResponse,
      ChatCompletionChunk: chatChunk,
      Completion: completionResponse,
      CompletionChunk: completionChunk,
      Infill: infillResponse,
      InfillEvent: infillEvent,
      Message: message,
      MessageEvent: messageEvent,
      TokenCount: tokenCount,
      MessageBatch: messageBatch,
      MessageBatchPage: messageBatchPage,
      MessageBatchDeleted: messageBatchDeleted,
      AnthropicError: anthropicError,
      Response: responseObject,
      ResponseStreamEvent: responseStreamEvent,
      InputTokens: inputTokens,
      CompactedResponse: compactedResponse,
      DryRun: dryRunResponse,
      Tokens: tokenizeResponse,
      Detokenized: detokenizeResponse,
      Embeddings: embeddingsResponse,
      Ranks: rerankResponse,
      Model: model,
      ModelList: modelList,
      UsagePage: usagePage,
      EmbeddingsUsagePage: embeddingsUsagePage,
      CostsPage: costsPage,
      File: file,
      FileList: fileList,
      FileDeleted: fileDeleted,
      Upload: upload,
      UploadPart: uploadPart,
      Batch: batch,
      BatchList: batchList,
      EngineList: engineList,
      UpstreamList: upstreamList,
      Job: job,
      Key: key,
      KeyList: keyList,
      KeyDeleted: keyDeleted,
      Owner: owner,
      ModelFileList: modelFileList,
      ModelFileDetails: modelFileDetails,
      ModelFileDeleted: modelFileDeleted,
      ModelDownload: modelDownload,
      ModelDownloadList: modelDownloadList,
      OllamaChatAnswer: ollamaChatAnswer,
      OllamaGenerateAnswer: ollamaGenerateAnswer,
      OllamaEmbedAnswer: ollamaEmbedAnswer,
      OllamaEmbeddingsAnswer: ollamaEmbeddingsAnswer,
      OllamaVersion: ollamaVersion,
      OllamaTags: ollamaTags,
      OllamaLoaded: ollamaLoaded,
      OllamaModel: ollamaModel,
      OllamaStatus: ollamaStatus,
      OllamaError: ollamaError,
      StoredChatCompletion: storedCompletion,
      StoredChatCompletionList: storedCompletionList,
      StoredMessageList: storedMessageList,
      ChatCompletionDeleted: completionDeleted,
      ResponseDeleted: responseDeleted,
      Conversation: conversation,
      ConversationDeleted: conversationDeleted,
      Item: item,
      ItemList: itemList,
      Health: health,
      Readiness: readiness,
      Error: errorResponse,
    }),
  };
  const paths: Record<string, Json> = {};
  for (const operation of operations) {
    const path = operation.path.replace(/:(\w+)/g, "{$1}");
    paths[path] = { ...paths[path], [operation.method]: describeOperation(operation) };
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Nightshift",
      version,
      description:
        "A server for language models with the APIs of OpenAI, Anthropic and Ollama. Unknown request fields are ignored; null is the same as unset.",
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "/" }],
    paths,
    components: { schemas, securitySchemes: { bearer: { type: "http", scheme: "bearer" } } },
  };
}

function componentSchemas(io: "input" | "output", named: Record<string, z.ZodType>): Json {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(named)) registry.add(schema, { id });
  const { schemas } = z.toJSONSchema(registry, {
    io,
    unrepresentable: "any",
    uri: (id) => `#/components/schemas/${id}`,
    override({ zodSchema, jsonSchema }) {
      if (!(zodSchema instanceof z.ZodObject)) return;
      // zod reports a preprocessed list as optional. Parsing undefined shows whether it is.
      const required = Object.entries(zodSchema.shape).flatMap(([key, field]) =>
        z.safeParse(field, undefined).success ? [] : [key],
      );
      jsonSchema.required = required;
      // Later versions may add fields, so clients must accept unknown ones.
      delete jsonSchema.additionalProperties;
    },
  });
  return Object.fromEntries(
    Object.entries(schemas).map(([id, { $schema: _dialect, $id: _id, ...schema }]) => [id, schema]),
  );
}

const PREFER: Json = {
  name: "Prefer",
  in: "header",
  schema: { type: "string" },
  description:
    "`respond-async`: a request that would be refused for load is answered with 202 and becomes a job. With `wait=N`, " +
    "also a request that has not started, or is not expected to start, within N seconds.",
};

const IGNORED: Json = {
  schema: { type: "string" },
  description:
    "Names of the body's fields that were accepted and not used, separated by commas. Absent where there is none.",
};

function describeOperation(operation: Operation): Json {
  const parameters: Json[] = [...operation.path.matchAll(/:(\w+)/g)].map(([, name]) => ({
    name,
    in: "path",
    required: true,
    schema: { type: "string" },
  }));
  if (operation.request && operation.accepted) parameters.push(PREFER);
  if (operation.query)
    parameters.push(...queryProperties(operation.query).map((property) => ({ ...property, in: "query" })));
  const responses: Record<string, Json> = {
    [operation.status ?? 200]: {
      description: operation.status === undefined ? "OK" : "Accepted",
      ...(operation.request && operation.access === "inference" && { headers: { "x-nightshift-ignored": IGNORED } }),
      content: contentOf(operation.response, operation.stream, operation.streamType),
      // Not a union in the schema: a generated client would have to distinguish the two for every response.
      ...(operation.dryRun && { "x-nightshift-dry-run": contentOf(operation.dryRun) }),
    },
  };
  if (operation.accepted)
    responses["202"] = { description: "Accepted as a job", content: contentOf(operation.accepted) };
  for (const [status, description] of Object.entries({
    ...refusalsOf(operation),
    ...(operation.request && UNREADABLE),
    ...operation.failures,
  })) {
    const schema = status === "503" && operation.unready ? operation.unready : (operation.error ?? "Error");
    responses[status] = { description, content: contentOf(schema) };
  }
  return {
    operationId: operation.id,
    tags: [tagOf(operation.path)],
    summary: operation.summary,
    ...(parameters.length > 0 && { parameters }),
    ...(operation.request && { requestBody: { required: true, content: contentOf(operation.request) } }),
    ...(operation.form && { requestBody: { required: true, content: formContent(operation.form) } }),
    // The empty requirement: no key is needed while API keys are off, and no token on loopback.
    security: operation.access === "open" ? [] : [{}, { bearer: [] }],
    responses,
  };
}

/** Failures of reading a JSON body. */
const UNREADABLE = {
  "413": "The body is too large.",
  "415": "The body is not JSON, or its encoding is not supported.",
};

/** The tag of `/v1/chat/completions` is chat, of `/v1/nightshift/keys/{id}` keys, of `/health` server, of `/api/chat` ollama. */
function tagOf(path: string): string {
  if (path.startsWith("/api/")) return "ollama";
  const [version, area, resource] = path.split("/").filter(Boolean);
  if (version !== "v1" || area === undefined) return "server";
  return area === "nightshift" && resource !== undefined ? resource : area;
}

/** Failures of the check of the API key. */
function refusalsOf({ access }: Operation): Record<string, string> {
  if (access === "open" || access === "token") return {};
  return {
    "401": "The API key is missing or not valid.",
    ...(access !== "key" && { "403": `The API key lacks the scope \`${access}\`, or another right for this request.` }),
    "429": "Too many wrong API keys came from this address.",
    "503": "API keys cannot be checked at the moment.",
  };
}

function formContent(schema: string): Json {
  return { "multipart/form-data": { schema: { $ref: `#/components/schemas/${schema}` } } };
}

function contentOf(schema: string, stream?: string, streamType = "text/event-stream"): Json {
  if (schema === "text") return { "text/plain": { schema: { type: "string" } } };
  if (schema === "bytes") return { "application/octet-stream": {}, "application/jsonl": {} };
  if (schema === "object") return { "application/json": { schema: { type: "object" } } };
  const reference = (name: string) => ({ $ref: `#/components/schemas/${name}` });
  return {
    "application/json": { schema: reference(schema) },
    ...(stream && { [streamType]: { schema: reference(stream) } }),
  };
}
