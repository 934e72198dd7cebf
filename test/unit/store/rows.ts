import type { NewBatch } from "../../../store/batch-row.ts";
import type { FileRow } from "../../../store/files.ts";
import type { LedgerRow } from "../../../store/ledger.ts";
import type { NewLine } from "../../../store/line-row.ts";
import type { NewEvent } from "../../../store/outbox.ts";

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
    endpoint: "/v1/chat/completions",
    inputFileId: "file-in",
    completionWindow: "24h",
    metadata: null,
    outputExpiresAfter: null,
    createdAt: 1000,
    expiresAt: 1000 + 86_400,
    ...changed,
  };
}

export function newLine(number: number, changed: Partial<NewLine> = {}): NewLine {
  return {
    number,
    customId: `line-${number}`,
    offset: number * 100,
    length: 99,
    prefix: `prefix ${number}`,
    estimatedTokens: 10,
    ...changed,
  };
}

export function ledgerRow(changed: Partial<LedgerRow> = {}): LedgerRow {
  return {
    time: 1000,
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
