import type { Batch, BatchDetails } from "../../openapi/resources/batches.ts";
import type { BatchRow } from "../../store/types/batch-row.ts";
import type { BatchProgress } from "../run/batch-progress.ts";

/** The batch object of a row: every field is present, null where it is unset. */
export function batchObject(row: BatchRow, progress: BatchProgress | null): Batch {
  return {
    id: row.id,
    object: "batch",
    endpoint: row.endpoint,
    model: row.model,
    errors: row.errors === null ? null : JSON.parse(row.errors),
    input_file_id: row.inputFileId,
    completion_window: row.completionWindow,
    status: row.status,
    output_file_id: row.outputFileId,
    error_file_id: row.errorFileId,
    created_at: row.createdAt,
    in_progress_at: row.inProgressAt,
    expires_at: row.expiresAt,
    finalizing_at: row.finalizingAt,
    completed_at: row.completedAt,
    failed_at: row.failedAt,
    expired_at: row.expiredAt,
    cancelling_at: row.cancellingAt,
    cancelled_at: row.cancelledAt,
    request_counts: { total: row.total, completed: row.completed, failed: row.failed },
    usage: {
      input_tokens: row.inputTokens,
      input_tokens_details: { cached_tokens: row.cachedTokens },
      output_tokens: row.outputTokens,
      output_tokens_details: { reasoning_tokens: row.reasoningTokens },
      total_tokens: row.inputTokens + row.outputTokens,
    },
    metadata: row.metadata === null ? null : JSON.parse(row.metadata),
    nightshift: progressFields(row, progress),
  };
}

function progressFields(row: BatchRow, progress: BatchProgress | null): BatchDetails {
  const queued = row.status === "in_progress";
  const rate = queued ? (progress?.tokensPerSecond ?? null) : null;
  return {
    ...situation(row, progress),
    position: queued ? (progress?.position ?? null) : null,
    eta: queued && progress?.etaMs != null ? Math.ceil(progress.etaMs / 1000) : null,
    progress: {
      tokens_total: row.estimatedTokens,
      tokens_done: Math.min(row.settledTokens, row.estimatedTokens),
      tokens_per_second: rate === null ? null : Math.round(rate * 10) / 10,
      lines_in_engine: progress?.linesInEngine ?? 0,
    },
    cost: { usd: row.costNano / 1e9 },
  };
}

function situation(row: BatchRow, progress: BatchProgress | null): Pick<BatchDetails, "phase" | "reason"> {
  switch (row.status) {
    case "validating":
      return { phase: "validating", reason: "every line of the input file is being checked" };
    case "in_progress": {
      if (progress === null) return { phase: "waiting", reason: `this server does not serve the model '${row.model}'` };
      const reason = `${progress.phase}: ${progress.reason}`;
      if (progress.linesInEngine > 0) return { phase: "running", reason };
      if (progress.paused !== null) return { phase: "waiting", reason: `paused: ${progress.paused}` };
      const ahead = (progress.position ?? 1) - 1;
      return { phase: "waiting", reason: ahead > 0 ? `${ahead} that end sooner go first; ${reason}` : reason };
    }
    case "finalizing":
      return { phase: "finalizing", reason: "its files are being written" };
    case "cancelling":
      return { phase: "stopping", reason: "it was cancelled; lines in the engine may end within a few seconds" };
    case "completed":
      return { phase: "ended", reason: "every line has ended and is in its files" };
    case "failed":
      return { phase: "ended", reason: "its input file did not pass validation; errors says why" };
    case "expired":
      return { phase: "ended", reason: "its window ended before every line had run" };
    case "cancelled":
      return { phase: "ended", reason: "it was cancelled; its finished lines are in its files" };
  }
}
