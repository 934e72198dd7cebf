import type { PromptExcess } from "../../openapi/api-error.ts";
import type { ErrorKey } from "../../openapi/errors.ts";
import type { EngineConfig, ModelFacts, ModelMeasurement } from "./config.ts";
import type { EmbeddingRequest, PieceMessage } from "./embedding.ts";
import type { EngineRequest } from "./request.ts";
import type { EngineStatus } from "./status.ts";
import type { StepMessage } from "./step.ts";
import type { TokenAnswer, TokenQuestion } from "./tokenize.ts";

/**
 * The messages between the server and one engine process: plain data, one typed union per direction.
 * A fake with this protocol can replace the engine process.
 *
 * Life of a request: `submit` → `accepted` (its prompt is counted, it is queued) or `refused`;
 * then step messages carry `started` once per sequence and its outputs until one has `finish`.
 * `cancel` ends a request at any time: only `cancelled` is sent for it after that.
 * Life of an `embed`: `accepted` or `refused`, then piece messages until every input has its vector.
 */

export type ToEngine =
  | { type: "start"; config: EngineConfig }
  /** In place of `start`: answered with `measured` or `failed`, then the process exits. Nothing is loaded. */
  | { type: "measure"; config: EngineConfig }
  | { type: "submit"; request: EngineRequest }
  | { type: "embed"; request: EmbeddingRequest }
  | { type: "cancel"; id: number }
  /** Answered with `status`, also while a step computes. */
  | { type: "inspect" }
  /** Answered with `tokenized`, also while a step computes, unless `cancel` comes first; ids are unique among requests too. */
  | { type: "tokenize"; id: number; question: TokenQuestion };

/** A refusal or a failure; the catalogue of API errors has its status. */
export interface EngineError {
  code: ErrorKey;
  param: string | null;
  message: string;
  /** Of a prompt that is too long. */
  excess?: PromptExcess;
}

export type FromEngine =
  /** 0 to 1 while the weights load. */
  | { type: "loading"; progress: number }
  | { type: "ready"; facts: ModelFacts; warnings: string[] }
  | { type: "measured"; measurement: ModelMeasurement }
  /** The model can't be loaded; the process exits after it. */
  | { type: "failed"; message: string }
  | { type: "accepted"; id: number; promptTokens: number; promptText: string | null }
  | { type: "refused"; id: number; error: EngineError }
  /** The answer to every `cancel`, after the step or embedding batch that computed when it came: proof that it did not hang. */
  | { type: "cancelled"; id: number }
  /** An unexpected error of one request, whose 500 is sent apart. Without the error's message, which may quote the request. */
  | { type: "fault"; stack: string }
  /** Null from an engine without steps, whose model only embeds. */
  | { type: "status"; status: EngineStatus | null }
  | { type: "tokenized"; id: number; answer: TokenAnswer | { error: EngineError } }
  | PieceMessage
  | StepMessage;
