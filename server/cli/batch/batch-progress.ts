import type { Batch } from "../../../openapi/resources/batches.ts";
import type { ProgressTerminal } from "../../models/download-progress.ts";

const BAR_WIDTH = 24;

/** The state of a batch as one line. `nowMs`: Unix milliseconds. */
export function batchLine(batch: Batch, nowMs: number): string {
  const { request_counts: counts, nightshift } = batch;
  const rate = nightshift.progress.tokens_per_second;
  if (batch.status !== "in_progress") return `${batch.status}: ${nightshift.reason}`;
  const over = counts.completed + counts.failed;
  const share = counts.total === 0 ? 0 : over / counts.total;
  const filled = Math.floor(share * BAR_WIDTH);
  const parts = [
    `${"█".repeat(filled)}${"░".repeat(BAR_WIDTH - filled)} ${Math.floor(share * 100)} %`,
    `${over} of ${counts.total} lines`,
    ...(counts.failed > 0 ? [`${counts.failed} failed`] : []),
    ...(rate !== null ? [`${rate} tokens/s`] : []),
    ...(nightshift.eta !== null ? [`${duration(nightshift.eta - nowMs / 1000)} left`] : []),
    `USD ${nightshift.cost.usd.toFixed(6)}`,
    ...(nightshift.phase === "waiting" ? [nightshift.reason] : []),
  ];
  return parts.join(", ");
}

/** Redraws one line on a terminal; elsewhere writes a line for each change of the status and for each tenth of the lines. */
export class BatchProgress {
  readonly #terminal: ProgressTerminal;
  #mark = "";
  #drawn = false;

  constructor(terminal: ProgressTerminal) {
    this.#terminal = terminal;
  }

  show(batch: Batch, nowMs: number): void {
    const line = batchLine(batch, nowMs);
    if (this.#terminal.isTTY) {
      // A wrapped line could not be redrawn.
      this.#terminal.write(`\r\x1b[2K${line.slice(0, (this.#terminal.columns ?? 80) - 1)}`);
      this.#drawn = true;
      return;
    }
    const { total, completed, failed } = batch.request_counts;
    const tenth = batch.status === "in_progress" ? Math.floor(((completed + failed) / total) * 10) : "";
    const mark = `${batch.status} ${tenth}`;
    if (mark === this.#mark) return;
    this.#mark = mark;
    this.#terminal.write(`${line}\n`);
  }

  end(): void {
    if (this.#drawn) this.#terminal.write("\n");
  }
}

function duration(seconds: number): string {
  if (seconds >= 3600) return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
  return seconds >= 60 ? `${Math.floor(seconds / 60)} min` : `${Math.max(0, Math.ceil(seconds))} s`;
}
