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
import { routeList } from "../resources/routes.ts";
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

type Json = Record<string, unknown>;

/** The named schemas of the document, which its operations refer to. */
export function componentSchemas(limits: RequestLimits): Json {
  return {
    ...namedSchemas("input", {
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
    ...namedSchemas("output", {
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
      RouteList: routeList,
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
}

function namedSchemas(io: "input" | "output", named: Record<string, z.ZodType>): Json {
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
