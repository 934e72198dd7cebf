import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import type { EngineObserver } from "../engine/engine.ts";
import type { PieceStats } from "../engine/protocol/embedding.ts";
import type { Tier } from "../engine/protocol/request.ts";
import type { StepStats } from "../engine/protocol/step.ts";
import type { LedgerSink } from "../ledger/usage-ledger.ts";
import type { LedgerRow } from "../store/ledger.ts";
import {
  BATCH_SIZE_BUCKETS,
  DURATION_BUCKETS,
  FIRST_TOKEN_BUCKETS,
  INTER_TOKEN_BUCKETS,
  MODEL_ERROR_BUCKETS,
  QUEUE_BUCKETS,
  STEP_BUCKETS,
  STEP_PART_BUCKETS,
} from "./metric-buckets.ts";
import { type Endpoint, type RequestMeter, RequestMeters, type RequestStatus } from "./request-meter.ts";
import { ONLINE_TIERS, type OnlineTier } from "./wait.ts";

/** Requests of one model right now. */
export interface LoadReading {
  readonly running: number;
  readonly waiting: number;
}

type StepPart = Exclude<keyof StepStats, "shares">;

/** Where a step's time goes: metric, what it is of StepStats, help. One metric each, as labels are few and fixed. */
const STEP_PARTS = [
  ["step_plan_seconds", "planMs", "Planning of one step: who runs, and how many tokens of each"],
  ["step_fill_seconds", "fillMs", "Writing one step's tokens into llama.cpp's batch"],
  [
    "step_decode_seconds",
    "decodeMs",
    "llama_decode of one step; text and message of the step before are made meanwhile",
  ],
  ["step_sample_seconds", "sampleMs", "Drawing one step's tokens"],
  ["step_text_seconds", "textMs", "Detokenizing and stop strings of one step, while the next one computes"],
  ["step_post_seconds", "postMs", "Handing one step's message to the channel, while the next one computes"],
] as const satisfies readonly (readonly [name: string, key: StepPart, help: string])[];

interface StepSeries {
  stepSeconds: Histogram;
  parts: readonly (readonly [key: StepPart, Histogram])[];
  batchSize: Histogram;
  modelError: Histogram;
  pieceSeconds: Histogram;
  inputs: Counter;
  busySeconds: Counter;
  onlineSeconds: Counter;
  restarts: Counter;
  displaced: Counter;
  evicted: Counter;
  parked: Counter;
  resumed: Counter;
}

/**
 * What the server measures, in the registry it is given. Labels are `model`, `endpoint`, `tier` and `status`, and their
 * values come from configuration and fixed lists alone: a client can't add a time series.
 */
export class Metrics implements EngineObserver, LedgerSink {
  readonly registry: Registry;
  readonly #meters: RequestMeters;
  readonly #steps: StepSeries;
  readonly #cost: Counter;
  readonly #engines = new Map<string, EngineMeter>();
  readonly #loads = new Map<string, LoadReading>();
  readonly #waits = new Map<string, (tier: OnlineTier) => number>();

  constructor(registry: Registry) {
    this.registry = registry;
    const registers = [registry];
    const perRequest = ["model", "endpoint", "tier"];
    const histogram = (name: string, help: string, buckets: number[], labelNames: string[]) =>
      new Histogram({ name: `nightshift_${name}`, help, buckets, labelNames, registers });
    const counter = (name: string, help: string, labelNames: string[]) =>
      new Counter({ name: `nightshift_${name}`, help, labelNames, registers });

    this.#cost = counter("ledger_cost_usd_total", "What requests cost, as their ledger rows say", perRequest);
    this.#meters = new RequestMeters({
      firstToken: histogram(
        "time_to_first_token_seconds",
        "Arrival at the socket to the first content byte written (not streamed: to the first token), queue included",
        FIRST_TOKEN_BUCKETS,
        perRequest,
      ),
      interToken: histogram(
        "inter_token_latency_seconds",
        "Gap between two consecutive tokens of one sequence, one observation per token",
        INTER_TOKEN_BUCKETS,
        perRequest,
      ),
      perOutputToken: histogram(
        "time_per_output_token_seconds",
        "(last token - first token) / (tokens - 1) of one sequence",
        INTER_TOKEN_BUCKETS,
        perRequest,
      ),
      duration: histogram(
        "request_duration_seconds",
        "Arrival to the end of a request that finished",
        DURATION_BUCKETS,
        perRequest,
      ),
      queueTime: histogram(
        "queue_time_seconds",
        "Arrival to the beginning of the first step that computes some of the request",
        QUEUE_BUCKETS,
        perRequest,
      ),
      promptTokens: counter("prompt_tokens_total", "Prompt tokens of accepted requests", perRequest),
      generationTokens: counter("generation_tokens_total", "Tokens generated", perRequest),
      cachedTokens: counter("cached_prompt_tokens_total", "Prompt tokens that were not computed again", perRequest),
      requests: counter("requests_total", "Requests by how they ended", [...perRequest, "status"]),
      cost: this.#cost,
    });
    this.#steps = {
      stepSeconds: histogram("step_seconds", "One step: plan, decode and sampling", STEP_BUCKETS, ["model"]),
      parts: STEP_PARTS.map(([name, key, help]) => [key, histogram(name, help, STEP_PART_BUCKETS, ["model"])] as const),
      batchSize: histogram("batch_size", "Sequences in the plan of one step", BATCH_SIZE_BUCKETS, ["model"]),
      modelError: histogram(
        "step_model_error_ratio",
        "|measured - predicted| / measured of decode and sampling of one step",
        MODEL_ERROR_BUCKETS,
        ["model"],
      ),
      pieceSeconds: histogram("embedding_piece_seconds", "One decode of inputs of embeddings", STEP_BUCKETS, ["model"]),
      inputs: counter("embedding_inputs_total", "Inputs of these decodes; a long one is in several", ["model"]),
      busySeconds: counter("engine_busy_seconds_total", "Decode and sampling of all steps, and decodes of embeddings", [
        "model",
      ]),
      onlineSeconds: counter("engine_online_seconds_total", "Of these, what online work alone would have taken", [
        "model",
      ]),
      displaced: counter("sequences_displaced_total", "Sequences that gave their place to others, and go on later", [
        "model",
      ]),
      evicted: counter("cache_evictions_total", "Idle prefixes pushed out of the KV cache", ["model"]),
      parked: counter("cache_parked_total", "Of these, those that went to host memory", ["model"]),
      resumed: counter("cache_resumed_tokens_total", "Tokens copied back from host memory, not computed again", [
        "model",
      ]),
      restarts: counter("engine_restarts_total", "Times an engine process died and was started again", ["model"]),
    };
    this.#gauge("requests_running", "Requests with a sequence in the engine", this.#loads, (load) => load.running);
    this.#gauge("requests_waiting", "Requests that no sequence has started for", this.#loads, (load) => load.waiting);
    const waits = this.#waits;
    new Gauge({
      name: "nightshift_predicted_wait_seconds",
      help: "How long a request that came now would wait for what is ahead of it",
      labelNames: ["model", "tier"],
      registers,
      collect() {
        for (const [model, waitMs] of waits)
          for (const tier of ONLINE_TIERS) this.set({ model, tier }, waitMs(tier) / 1000);
      },
    });
    this.#gauge("kv_cache_usage_ratio", "Used share of the KV cells", this.#engines, (engine) => engine.kvUsage);
    this.#gauge("park_memory_bytes", "Host memory that prefixes take", this.#engines, (engine) => engine.parkedBytes);
  }

  /** The handles of one kind of request; resolved once, so that observing does no look-up by label. */
  meter(model: string, endpoint: Endpoint, tier: Tier): RequestMeter {
    return this.#meters.get(model, endpoint, tier);
  }

  /** Counts a request that ended before its model was known; its `model` label is empty. */
  turnedAway(endpoint: Endpoint, status: RequestStatus): void {
    this.#meters.get("", endpoint, "default").ended(status);
  }

  /** A ledger row is durable. */
  charged({ model, endpoint, tier, costNano }: LedgerRow): void {
    this.#cost.inc({ model, endpoint, tier }, costNano / 1e9);
  }

  /** Makes a model's load, and the wait that admission foretells, visible; both are read when the metrics are. */
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

  restarted(model: string): void {
    this.#engine(model).restarts.inc();
  }

  #engine(model: string): EngineMeter {
    let engine = this.#engines.get(model);
    if (engine === undefined) {
      engine = new EngineMeter(this.#steps, model);
      this.#engines.set(model, engine);
    }
    return engine;
  }

  /** A gauge that is worked out only when somebody asks: nothing on a step's way. */
  #gauge<Source>(
    name: string,
    help: string,
    sources: ReadonlyMap<string, Source>,
    read: (source: Source) => number,
  ): void {
    new Gauge({
      name: `nightshift_${name}`,
      help,
      labelNames: ["model"],
      registers: [this.registry],
      collect() {
        for (const [model, source] of sources) this.set({ model }, read(source));
      },
    });
  }
}

class EngineMeter {
  readonly restarts: Counter.Internal;
  readonly #stepSeconds: Histogram.Internal<string>;
  readonly #parts: readonly (readonly [key: StepPart, Histogram.Internal<string>])[];
  readonly #batchSize: Histogram.Internal<string>;
  readonly #modelError: Histogram.Internal<string>;
  readonly #pieceSeconds: Histogram.Internal<string>;
  readonly #inputs: Counter.Internal;
  readonly #busySeconds: Counter.Internal;
  readonly #onlineSeconds: Counter.Internal;
  readonly #displaced: Counter.Internal;
  readonly #evicted: Counter.Internal;
  readonly #parked: Counter.Internal;
  readonly #resumed: Counter.Internal;
  #cellsUsed = 0;
  #cells = 0;
  #parkedBytes = 0;

  constructor(steps: StepSeries, model: string) {
    this.#stepSeconds = steps.stepSeconds.labels(model);
    this.#parts = steps.parts.map(([key, histogram]) => [key, histogram.labels(model)] as const);
    this.#batchSize = steps.batchSize.labels(model);
    this.#modelError = steps.modelError.labels(model);
    this.#pieceSeconds = steps.pieceSeconds.labels(model);
    this.#inputs = steps.inputs.labels(model);
    this.#busySeconds = steps.busySeconds.labels(model);
    this.#onlineSeconds = steps.onlineSeconds.labels(model);
    this.restarts = steps.restarts.labels(model);
    this.#displaced = steps.displaced.labels(model);
    this.#evicted = steps.evicted.labels(model);
    this.#parked = steps.parked.labels(model);
    this.#resumed = steps.resumed.labels(model);
    const rare = [this.restarts, this.#inputs, this.#displaced, this.#evicted, this.#parked, this.#resumed];
    for (const counter of rare) counter.inc(0);
  }

  get parkedBytes(): number {
    return this.#parkedBytes;
  }

  get kvUsage(): number {
    return this.#cells === 0 ? 0 : this.#cellsUsed / this.#cells;
  }

  piece({ ms, online, inputs }: PieceStats): void {
    this.#pieceSeconds.observe(ms / 1000);
    this.#inputs.inc(inputs);
    this.#busySeconds.inc(ms / 1000);
    if (online) this.#onlineSeconds.inc(ms / 1000);
  }

  step(stats: StepStats): void {
    this.#stepSeconds.observe(stats.totalMs / 1000);
    for (const [key, part] of this.#parts) part.observe(stats[key] / 1000);
    this.#batchSize.observe(stats.batchSize);
    const measuredMs = stats.decodeMs + stats.sampleMs;
    if (measuredMs > 0) this.#modelError.observe(Math.abs(measuredMs - stats.predictedMs) / measuredMs);
    this.#busySeconds.inc(measuredMs / 1000);
    // The model's error must not make more of online work than there was time.
    this.#onlineSeconds.inc(Math.min(measuredMs, stats.onlineMs) / 1000);
    this.#cellsUsed = stats.cellsUsed;
    this.#cells = stats.cells;
    this.#displaced.inc(stats.displaced);
    this.#evicted.inc(stats.evicted);
    this.#parked.inc(stats.parked);
    this.#resumed.inc(stats.resumed);
    this.#parkedBytes = stats.parkedBytes;
  }
}
