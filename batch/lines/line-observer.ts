import type { BatchEndpoint } from "../../openapi/resources/batches.ts";

/** Final states of a line. */
export const LINE_OUTCOMES = ["done", "failed", "cancelled", "expired"] as const;

/** Observes lines that end; the server's metrics implement it. */
export interface LineObserver {
  linesEnded(model: string, endpoint: BatchEndpoint, outcome: (typeof LINE_OUTCOMES)[number], count: number): void;
}
