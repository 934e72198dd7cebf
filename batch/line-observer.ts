import type { BatchEndpoint } from "../openapi/batches.ts";

/** Hears of lines that ended; the server's metrics implement it. */
export interface LineObserver {
  linesEnded(
    model: string,
    endpoint: BatchEndpoint,
    outcome: "done" | "failed" | "cancelled" | "expired",
    count: number,
  ): void;
}
