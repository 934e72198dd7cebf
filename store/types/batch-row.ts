import type { BatchEndpoint, BatchStatus } from "../../openapi/resources/batches.ts";
import { columns } from "./columns.ts";

/**
 * A batch. Transitions of its status:
 *
 * | status | goes to | by |
 * |---|---|---|
 * | validating | in_progress, failed, cancelling, expired | begin, fail, cancel, finalize |
 * | in_progress | finalizing, cancelling, expired | beginFinalizing, cancel, finalize |
 * | finalizing | completed | finalize |
 * | cancelling | cancelled | finalize |
 * | failed, completed, expired, cancelled | – | |
 */
export interface BatchRow {
  /** Order of creation. */
  seq: number;
  id: string;
  owner: string;
  /** The API key of its creation; null while keys are off. */
  keyId: string | null;
  endpoint: BatchEndpoint;
  model: string | null;
  inputFileId: string;
  completionWindow: string;
  status: BatchStatus;
  /** JSON: the list object of the API. */
  errors: string | null;
  /** JSON object. */
  metadata: string | null;
  /** JSON: `{anchor, seconds}`. */
  outputExpiresAfter: string | null;
  createdAt: number;
  inProgressAt: number | null;
  expiresAt: number;
  finalizingAt: number | null;
  completedAt: number | null;
  failedAt: number | null;
  expiredAt: number | null;
  cancellingAt: number | null;
  cancelledAt: number | null;
  outputFileId: string | null;
  errorFileId: string | null;
  total: number;
  completed: number;
  failed: number;
  inputTokens: number;
  cachedTokens: number;
  outputTokens: number;
  reasoningTokens: number;
  costNano: number;
  /** Estimated tokens of all lines, from validation; before it from a preview of the file, 0 without one. */
  estimatedTokens: number;
  /** Estimated tokens of terminal lines; the remaining work is the difference. */
  settledTokens: number;
  /** Validation attempts that did not complete, the current one included. */
  validations: number;
}

export type NewBatch = Pick<
  BatchRow,
  | "id"
  | "owner"
  | "keyId"
  | "endpoint"
  | "inputFileId"
  | "completionWindow"
  | "metadata"
  | "outputExpiresAfter"
  | "createdAt"
  | "expiresAt"
  | "estimatedTokens"
>;

export const BATCH = columns<BatchRow>([
  "seq",
  "id",
  "owner",
  "keyId",
  "endpoint",
  "model",
  "inputFileId",
  "completionWindow",
  "status",
  "errors",
  "metadata",
  "outputExpiresAfter",
  "createdAt",
  "inProgressAt",
  "expiresAt",
  "finalizingAt",
  "completedAt",
  "failedAt",
  "expiredAt",
  "cancellingAt",
  "cancelledAt",
  "outputFileId",
  "errorFileId",
  "total",
  "completed",
  "failed",
  "inputTokens",
  "cachedTokens",
  "outputTokens",
  "reasoningTokens",
  "costNano",
  "estimatedTokens",
  "settledTokens",
  "validations",
]);

export const NEW_BATCH = columns<NewBatch>([
  "id",
  "owner",
  "keyId",
  "endpoint",
  "inputFileId",
  "completionWindow",
  "metadata",
  "outputExpiresAfter",
  "createdAt",
  "expiresAt",
  "estimatedTokens",
]);
