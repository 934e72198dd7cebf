import type { FileStore } from "../../files/file-store.ts";
import type { Caller } from "../../ledger/key.ts";
import { type Batch, type BatchEndpoint, COMPLETION_WINDOW } from "../../openapi/resources/batches.ts";
import { failpoint } from "../../platform/failpoint.ts";
import type { NewResponse } from "../../store/types/answer-rows.ts";
import { mayBeCommitted } from "../../store/types/store-error.ts";
import type { Batches } from "./batches.ts";

export interface WrittenInputDeps {
  batches: Pick<Batches, "create">;
  files: Pick<FileStore, "write" | "stage" | "withdraw" | "quota" | "maxFiles">;
}

/** A batch whose input file the server writes. */
export interface WrittenBatch {
  lines: AsyncIterable<Uint8Array>;
  filename: string;
  endpoint: BatchEndpoint;
  metadata: Record<string, string>;
  /** Seconds from the creation for which requests and results are kept. */
  keptSeconds: number;
  /** The background response that it runs. */
  response?: NewResponse | null;
}

/**
 * Durable, with its input file, when it resolves; otherwise neither is left, not even after a crash. Throws the errors of
 * `Batches.create`, and 413 or 507 for the file.
 */
export async function createWithInput(
  { batches, files }: WrittenInputDeps,
  caller: Caller,
  { lines, filename, endpoint, metadata, keptSeconds, response = null }: WrittenBatch,
): Promise<Batch> {
  const incoming = await files.write(lines, { reserve: true });
  const { owner, key } = caller;
  const row = await files.stage(incoming, { owner, purpose: "batch", filename, expiresAfter: keptSeconds });
  failpoint("batch.input");
  const request = {
    input_file_id: row.id,
    endpoint,
    completion_window: COMPLETION_WINDOW,
    metadata,
    output_expires_after: { anchor: "created_at", seconds: keptSeconds },
  };
  const quotaBytes = files.quota(key?.limits.storageBytes ?? null);
  try {
    return await batches.create(caller, request, null, {
      input: { row, quotaBytes, maxFiles: files.maxFiles },
      response,
    });
  } catch (error) {
    if (!mayBeCommitted(error)) await files.withdraw(row);
    throw error;
  }
}
