import { Counter, Gauge, type Registry } from "prom-client";
import { LINE_OUTCOMES, type LineObserver } from "../../batch/lines/line-observer.ts";
import { CHANGE_REASONS } from "../../batch/shift/shift-decision.ts";
import type { ShiftStateDeps } from "../../batch/shift/shift-state.ts";
import {
  BATCH_ENDPOINTS,
  BATCH_STATUSES,
  type BatchEndpoint,
  type BatchStatus,
} from "../../openapi/resources/batches.ts";
import type { BatchBacklog } from "../../store/tables/batches.ts";

/** Values that are read when the metrics are scraped. */
export interface BatchReadings {
  counts(): Promise<{ status: BatchStatus; count: number }[]>;
  backlog(): readonly BatchBacklog[];
  linesInEngine(): { model: string; lines: number }[];
  outlook(): readonly { model: string; etaMs: number | null; deadlineMs: number }[];
  paused(): { model: string; batches: number }[];
  epochSeconds(): number;
}

/** Metrics of batch work. Label values come only from fixed lists and the configured models. */
export class BatchMetrics implements LineObserver {
  readonly #lines: Counter;
  readonly #share: Gauge;
  readonly #changes: Counter;
  readonly #registry: Registry;

  constructor(registry: Registry) {
    this.#registry = registry;
    const registers = [registry];
    this.#lines = new Counter({
      name: "nightshift_batch_lines_total",
      help: "Batch lines by outcome",
      labelNames: ["model", "endpoint", "status"],
      registers,
    });
    this.#share = new Gauge({
      name: "nightshift_shift_share",
      help: "Share of the engine that batch work may use; status is the phase of the shift",
      labelNames: ["model", "status"],
      registers,
    });
    this.#changes = new Counter({
      name: "nightshift_shift_changes_total",
      help: "Changes of the shift by cause",
      labelNames: ["model", "status"],
      registers,
    });
  }

  linesEnded(model: string, endpoint: BatchEndpoint, outcome: string, count: number): void {
    this.#lines.inc({ model, endpoint, status: outcome }, count);
  }

  shiftOf(model: string): ShiftStateDeps["observer"] {
    // rate() sees the first increase of a series only if the series exists before it.
    for (const status of CHANGE_REASONS) this.#changes.inc({ model, status }, 0);
    for (const endpoint of BATCH_ENDPOINTS)
      for (const status of LINE_OUTCOMES) this.#lines.inc({ model, endpoint, status }, 0);
    let shown: string | null = null;
    return {
      shiftChanged: (reason, { phase, share }) => {
        this.#changes.inc({ model, status: reason });
        if (shown !== null) this.#share.remove({ model, status: shown });
        shown = phase;
        this.#share.set({ model, status: phase }, share);
      },
    };
  }

  /** Adds the gauges whose values are computed when they are scraped. */
  watch(readings: BatchReadings): void {
    const gauge = (name: string, help: string, labelNames: string[], read: (set: Gauge) => void | Promise<void>) => {
      const made: Gauge = new Gauge({
        name: `nightshift_batch_${name}`,
        help,
        labelNames,
        registers: [this.#registry],
        collect: () => {
          made.reset();
          // reset() sets a gauge without labels to 0; this one is absent until it is set.
          if (labelNames.length === 0) made.remove();
          return read(made);
        },
      });
    };
    const untilSeconds = (epochMs: number) => epochMs / 1000 - readings.epochSeconds();
    gauge("batches", "Batches by status", ["status"], async (set) => {
      const counts = new Map((await readings.counts()).map(({ status, count }) => [status, count]));
      for (const status of BATCH_STATUSES) set.set({ status }, counts.get(status) ?? 0);
    });
    gauge("backlog_lines", "Unfinished lines of batches in progress", ["model"], (set) => {
      for (const { model, lines } of readings.backlog()) set.inc({ model: model ?? "" }, lines);
    });
    gauge("backlog_tokens", "Estimated tokens of the unfinished lines of batches in progress", ["model"], (set) => {
      for (const { model, tokens } of readings.backlog()) set.inc({ model: model ?? "" }, tokens);
    });
    gauge("oldest_age_seconds", "Age of the oldest batch in progress", [], (set) => {
      const created = readings.backlog().map(({ createdAt }) => createdAt);
      if (created.length > 0) set.set(readings.epochSeconds() - Math.min(...created));
    });
    gauge("nearest_deadline_seconds", "Time until the nearest deadline of a batch in progress", [], (set) => {
      const deadlines = readings.backlog().map(({ expiresAt }) => expiresAt);
      if (deadlines.length > 0) set.set(Math.min(...deadlines) - readings.epochSeconds());
    });
    gauge("eta_seconds", "Predicted time until the last batch in progress ends", ["model"], (set) => {
      const etas = new Map<string, number | null>();
      for (const { model, etaMs } of readings.outlook()) etas.set(model, later(etas.get(model), etaMs));
      for (const [model, etaMs] of etas) if (etaMs !== null) set.set({ model }, untilSeconds(etaMs));
    });
    gauge(
      "deadline_slack_seconds",
      "Minimum time between the predicted end of a batch and its deadline; negative if a deadline will be missed",
      ["model"],
      (set) => {
        const slack = new Map<string, number>();
        for (const { model, etaMs, deadlineMs } of readings.outlook())
          if (etaMs !== null) slack.set(model, Math.min(slack.get(model) ?? Infinity, (deadlineMs - etaMs) / 1000));
        for (const [model, seconds] of slack) set.set({ model }, seconds);
      },
    );
    gauge("paused", "Batches paused by a used-up budget", ["model"], (set) => {
      for (const { model, batches } of readings.paused()) set.set({ model }, batches);
    });
    gauge("lines_in_engine", "Batch lines in the engine", ["model"], (set) => {
      for (const { model, lines } of readings.linesInEngine()) set.set({ model }, lines);
    });
  }
}

/** Null is a time that cannot be predicted, and later than any other. */
function later(one: number | null | undefined, other: number | null): number | null {
  if (one === undefined) return other;
  return one === null || other === null ? null : Math.max(one, other);
}
