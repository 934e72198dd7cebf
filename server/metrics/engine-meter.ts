import type { Counter, Histogram } from "prom-client";
import type { PieceStats } from "../../engine/protocol/embedding.ts";
import type { StepStats } from "../../engine/protocol/step.ts";
import { BATCH_SIZE_BUCKETS, MODEL_ERROR_BUCKETS, STEP_BUCKETS, STEP_PART_BUCKETS } from "./histogram-buckets.ts";

type StepPart = Exclude<keyof StepStats, "shares">;

/** Parts of a step's time: metric, field of StepStats, help. Each is a metric, because the set of labels is fixed. */
const STEP_PARTS = [
  ["step_plan_seconds", "planMs", "Planning of one step: its sequences and their tokens"],
  ["step_fill_seconds", "fillMs", "Writing the tokens of one step into llama.cpp's batch"],
  [
    "step_decode_seconds",
    "decodeMs",
    "llama_decode of one step; the text and message of the previous step are made at the same time",
  ],
  ["step_sample_seconds", "sampleMs", "Sampling the tokens of one step"],
  ["step_text_seconds", "textMs", "Detokenizing and stop strings of one step, while the next step computes"],
  ["step_post_seconds", "postMs", "Posting the message of one step to the channel, while the next step computes"],
] as const satisfies readonly (readonly [name: string, key: StepPart, help: string])[];

/** The series of steps and embedding batches; `model` is the only label. */
export interface EngineSeries {
  stepSeconds: Histogram;
  parts: readonly (readonly [key: StepPart, Histogram])[];
  batchSize: Histogram;
  modelError: Histogram;
  predictedSeconds: Counter;
  pieceSeconds: Histogram;
  inputs: Counter;
  busySeconds: Counter;
  onlineSeconds: Counter;
  restarts: Counter;
  preempted: Counter;
  evicted: Counter;
  offloaded: Counter;
  restored: Counter;
}

/** Makes the series; names are without the prefix. */
export function engineSeries(
  histogram: (name: string, help: string, buckets: number[], labels: string[]) => Histogram,
  counter: (name: string, help: string, labels: string[]) => Counter,
): EngineSeries {
  const labels = ["model"];
  const count = (name: string, help: string) => counter(name, help, labels);
  return {
    stepSeconds: histogram("step_seconds", "One step: plan, decode and sampling", STEP_BUCKETS, labels),
    parts: STEP_PARTS.map(([name, key, help]) => [key, histogram(name, help, STEP_PART_BUCKETS, labels)] as const),
    batchSize: histogram("batch_size", "Sequences in the plan of one step", BATCH_SIZE_BUCKETS, labels),
    modelError: histogram(
      "step_model_error_ratio",
      "|measured - predicted| / measured, for decode and sampling of one step",
      MODEL_ERROR_BUCKETS,
      labels,
    ),
    predictedSeconds: count("step_predicted_seconds_total", "Predicted time of decode and sampling of all steps"),
    pieceSeconds: histogram("embedding_piece_seconds", "One decode of embedding inputs", STEP_BUCKETS, labels),
    inputs: count("embedding_inputs_total", "Embedding inputs, counted once for each decode that has a part of them"),
    busySeconds: count(
      "engine_busy_seconds_total",
      "Time of decode and sampling of all steps, and of decodes of embeddings",
    ),
    onlineSeconds: count(
      "engine_online_seconds_total",
      "Part of the busy seconds that online work alone would have needed",
    ),
    preempted: count("sequences_displaced_total", "Sequences that were preempted"),
    evicted: count("cache_evictions_total", "Idle prefixes evicted from the KV cache"),
    offloaded: count("cache_parked_total", "Idle prefixes offloaded from the KV cache to host memory"),
    restored: count(
      "cache_resumed_tokens_total",
      "Tokens copied back from host memory instead of being computed again",
    ),
    restarts: count("engine_restarts_total", "Restarts of an engine process after its death"),
  };
}

/** All handles of one model, and the last step of its engine process, which is forgotten when the process ends. */
export class EngineMeter {
  readonly #restarts: Counter.Internal;
  readonly #stepSeconds: Histogram.Internal<string>;
  readonly #parts: readonly (readonly [key: StepPart, Histogram.Internal<string>])[];
  readonly #batchSize: Histogram.Internal<string>;
  readonly #modelError: Histogram.Internal<string>;
  readonly #predictedSeconds: Counter.Internal;
  readonly #pieceSeconds: Histogram.Internal<string>;
  readonly #inputs: Counter.Internal;
  readonly #busySeconds: Counter.Internal;
  readonly #onlineSeconds: Counter.Internal;
  readonly #preempted: Counter.Internal;
  readonly #evicted: Counter.Internal;
  readonly #offloaded: Counter.Internal;
  readonly #restored: Counter.Internal;
  #pid: number | null = null;
  #last: StepStats | null = null;

  constructor(series: EngineSeries, model: string) {
    this.#stepSeconds = series.stepSeconds.labels(model);
    this.#parts = series.parts.map(([key, histogram]) => [key, histogram.labels(model)] as const);
    this.#batchSize = series.batchSize.labels(model);
    this.#modelError = series.modelError.labels(model);
    this.#predictedSeconds = series.predictedSeconds.labels(model);
    this.#pieceSeconds = series.pieceSeconds.labels(model);
    this.#inputs = series.inputs.labels(model);
    this.#busySeconds = series.busySeconds.labels(model);
    this.#onlineSeconds = series.onlineSeconds.labels(model);
    this.#restarts = series.restarts.labels(model);
    this.#preempted = series.preempted.labels(model);
    this.#evicted = series.evicted.labels(model);
    this.#offloaded = series.offloaded.labels(model);
    this.#restored = series.restored.labels(model);
    const rare = [
      this.#restarts,
      this.#predictedSeconds,
      this.#inputs,
      this.#preempted,
      this.#evicted,
      this.#offloaded,
      this.#restored,
    ];
    for (const counter of rare) counter.inc(0);
  }

  /** Process id of the engine; null while it has no process on this machine. */
  get pid(): number | null {
    return this.#pid;
  }

  /** Null before the first step, as is `kvUsage`. */
  get offloadedBytes(): number | null {
    return this.#last?.offloadedBytes ?? null;
  }

  get kvUsage(): number | null {
    return this.#last === null || this.#last.cells === 0 ? null : this.#last.cellsUsed / this.#last.cells;
  }

  started(pid: number | null): void {
    this.#pid = pid;
  }

  ended(): void {
    this.#pid = null;
    this.#last = null;
  }

  restarted(): void {
    this.#restarts.inc();
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
    this.#predictedSeconds.inc(stats.predictedMs / 1000);
    this.#busySeconds.inc(measuredMs / 1000);
    // An error of the step model must not make online time exceed the measured time.
    this.#onlineSeconds.inc(Math.min(measuredMs, stats.onlineMs) / 1000);
    this.#preempted.inc(stats.preempted);
    this.#evicted.inc(stats.evicted);
    this.#offloaded.inc(stats.offloaded);
    this.#restored.inc(stats.restored);
    this.#last = stats;
  }
}
