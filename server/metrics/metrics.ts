import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import type { EngineObserver } from "../../engine/engine.ts";
import type { PieceStats } from "../../engine/protocol/embedding.ts";
import type { Tier } from "../../engine/protocol/request.ts";
import { ONLINE_TIERS, type OnlineTier } from "../../engine/protocol/request.ts";
import type { StepStats } from "../../engine/protocol/step.ts";
import type { LedgerFaults, LedgerSink } from "../../ledger/usage-ledger.ts";
import type { InferencePath } from "../../openapi/inference-path.ts";
import type { LedgerRow } from "../../store/tables/ledger.ts";
import { EngineMeter, type EngineSeries, engineSeries } from "./engine-meter.ts";
import { openFiles, residentBytes } from "./machine/proc-fs.ts";
import {
  REQUEST_LABELS,
  type RequestMeter,
  RequestMeters,
  type RequestStatus,
  requestSeries,
} from "./request-meter.ts";

/** The current requests of one model. */
export interface LoadReading {
  readonly running: number;
  readonly waiting: number;
  /** Sequences of those requests, by tier. */
  readonly sequences: Readonly<Record<Tier, number>>;
}

/**
 * The metrics of requests, engines and the ledger. Labels are `model`, `endpoint`, `tier` and `status`. Their values come
 * only from the configuration, the folder of models and fixed lists, so that a client cannot add a time series.
 */
export class Metrics implements EngineObserver, LedgerSink, LedgerFaults {
  readonly registry: Registry;
  readonly #meters: RequestMeters;
  readonly #engineSeries: EngineSeries;
  readonly #cost: Counter;
  readonly #ledgerErrors: Counter;
  readonly #ledgerLost: Counter;
  readonly #engines = new Map<string, EngineMeter>();
  readonly #loads = new Map<string, LoadReading>();
  readonly #waits = new Map<string, (tier: OnlineTier) => number>();

  constructor(registry: Registry) {
    this.registry = registry;
    const registers = [registry];
    const histogram = (name: string, help: string, buckets: number[], labelNames: string[]) =>
      new Histogram({ name: `nightshift_${name}`, help, buckets, labelNames, registers });
    const counter = (name: string, help: string, labelNames: string[]) =>
      new Counter({ name: `nightshift_${name}`, help, labelNames, registers });

    this.#cost = counter("ledger_cost_usd_total", "Cost of requests, from their ledger rows", REQUEST_LABELS);
    this.#meters = new RequestMeters(requestSeries(histogram, counter, this.#cost));
    this.#engineSeries = engineSeries(histogram, counter);
    this.#ledgerErrors = counter("ledger_write_errors_total", "Failed writes of ledger rows; they are retried", []);
    this.#ledgerLost = counter(
      "ledger_rows_lost_total",
      "Ledger rows lost because the store was unavailable for too long",
      [],
    );
    this.#gauge("requests_running", "Requests with a running sequence", this.#loads, (load) => load.running);
    this.#gauge("requests_waiting", "Requests without a started sequence", this.#loads, (load) => load.waiting);
    const loads = this.#loads;
    new Gauge({
      name: "nightshift_sequences",
      help: "Sequences of unfinished requests, running or waiting",
      labelNames: ["model", "tier"],
      registers,
      collect() {
        for (const [model, { sequences }] of loads)
          for (const [tier, count] of Object.entries(sequences)) this.set({ model, tier }, count);
      },
    });
    const waits = this.#waits;
    new Gauge({
      name: "nightshift_predicted_wait_seconds",
      help: "Predicted queue wait of a request that arrives now",
      labelNames: ["model", "tier"],
      registers,
      collect() {
        for (const [model, waitMs] of waits)
          for (const tier of ONLINE_TIERS) this.set({ model, tier }, waitMs(tier) / 1000);
      },
    });
    this.#gauge(
      "kv_cache_usage_ratio",
      "Share of the KV cache cells in use",
      this.#engines,
      (engine) => engine.kvUsage,
    );
    this.#gauge(
      "park_memory_bytes",
      "Host memory in use by offloaded prefixes",
      this.#engines,
      (engine) => engine.offloadedBytes,
    );
    this.#gauge("engine_resident_memory_bytes", "Resident memory of the engine process", this.#engines, ({ pid }) =>
      pid === null ? null : residentBytes(pid),
    );
    this.#gauge("engine_open_fds", "Open file descriptors of the engine process", this.#engines, ({ pid }) =>
      pid === null ? null : openFiles(pid),
    );
  }

  /** The handles of one kind of request. They are resolved once, so that an observation looks up no label. */
  meter(model: string, endpoint: InferencePath, tier: Tier): RequestMeter {
    return this.#meters.get(model, endpoint, tier);
  }

  /** Counts a request that ended before its model was known, with an empty `model` label. */
  turnedAway(endpoint: InferencePath, status: RequestStatus): void {
    this.#meters.get("", endpoint, "default").ended(status);
  }

  /** A ledger row is durable. */
  charged({ model, endpoint, tier, costNano }: LedgerRow): void {
    this.#cost.inc({ model, endpoint, tier }, costNano / 1e9);
  }

  writeFailed(): void {
    this.#ledgerErrors.inc();
  }

  lost(rows: number): void {
    this.#ledgerLost.inc(rows);
  }

  /** Adds a model's load and predicted queue wait, which are read when the metrics are scraped. */
  watch(model: string, load: LoadReading, waitMs: (tier: OnlineTier) => number): void {
    this.#loads.set(model, load);
    this.#waits.set(model, waitMs);
    this.#engine(model);
  }

  step(model: string, stats: StepStats): void {
    this.#engine(model).step(stats);
  }

  piece(model: string, stats: PieceStats): void {
    this.#engine(model).piece(stats);
  }

  started(model: string, pid: number | null): void {
    this.#engine(model).started(pid);
  }

  ended(model: string): void {
    this.#engine(model).ended();
  }

  restarted(model: string): void {
    this.#engine(model).restarted();
  }

  #engine(model: string): EngineMeter {
    let engine = this.#engines.get(model);
    if (engine === undefined) {
      engine = new EngineMeter(this.#engineSeries, model);
      this.#engines.set(model, engine);
    }
    return engine;
  }

  /** A gauge that is computed when the metrics are scraped, and so costs a step nothing. Null is not shown. */
  #gauge<Source>(
    name: string,
    help: string,
    sources: ReadonlyMap<string, Source>,
    read: (source: Source) => number | null,
  ): void {
    new Gauge({
      name: `nightshift_${name}`,
      help,
      labelNames: ["model"],
      registers: [this.registry],
      collect() {
        for (const [model, source] of sources) {
          const value = read(source);
          if (value === null) this.remove({ model });
          else this.set({ model }, value);
        }
      },
    });
  }
}
