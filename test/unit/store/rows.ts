import type { FileRow } from "../../../store/tables/files.ts";
import type { LedgerRow } from "../../../store/tables/ledger.ts";
import type { NewEvent } from "../../../store/tables/outbox.ts";
import type { NewBatch } from "../../../store/types/batch-row.ts";
import type { LineTerms, NewLines } from "../../../store/types/line-row.ts";

export function fileRow(id: string, changed: Partial<FileRow> = {}): FileRow {
  return {
    id,
    owner: "local",
    purpose: "batch",
    filename: "in.jsonl",
    bytes: 100,
    sha256: "00",
    createdAt: 1000,
    expiresAt: null,
    ...changed,
  };
}

export function newBatch(id: string, changed: Partial<NewBatch> = {}): NewBatch {
  return {
    id,
    owner: "local",
    keyId: null,
    endpoint: "/v1/chat/completions",
    inputFileId: "file-in",
    completionWindow: "24h",
    metadata: null,
    outputExpiresAfter: null,
    createdAt: 1000,
    expiresAt: 1000 + 86_400,
    estimatedTokens: 0,
    ...changed,
  };
}

/** Prices of zero. */
export const FREE: LineTerms = { inputNano: 0, outputNano: 0, context: 4096 };

/** Lines numbered from 1, or with the given custom_ids and positions. */
export function newLines(count: number, given: { customIds?: string[]; positions?: number[] } = {}): NewLines {
  const numbers = Uint32Array.from({ length: count }, (_, index) => index + 1);
  return {
    numbers,
    customIds: given.customIds ?? Array.from(numbers, (number) => `line-${number}`),
    offsets: Float64Array.from(numbers, (number) => number * 100),
    lengths: numbers.map(() => 99),
    positions: given.positions === undefined ? numbers : Uint32Array.from(given.positions),
    estimatedTokens: numbers.map(() => 10),
    promptTokens: numbers.map(() => 4),
    choices: numbers.map(() => 1),
    maxTokens: numbers.map(() => 6),
  };
}

export function ledgerRow(changed: Partial<LedgerRow> = {}): LedgerRow {
  return {
    time: 1000,
    day: 0,
    owner: "local",
    keyId: null,
    endpoint: "/v1/chat/completions",
    model: "demo",
    version: "fp_1",
    tier: "default",
    batchId: null,
    line: null,
    inputTokens: 100,
    cachedTokens: 40,
    outputTokens: 10,
    reasoningTokens: 0,
    estimated: 0,
    costNano: 1000,
    defaultCostNano: 1000,
    ...changed,
  };
}

export function newEvent(id: string, changed: Partial<NewEvent> = {}): NewEvent {
  return {
    id,
    endpointUrl: "https://example.com/hook",
    type: "batch.completed",
    payload: "{}",
    createdAt: 1000,
    nextAtMs: 1_000_000,
    ...changed,
  };
}
