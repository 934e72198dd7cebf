import type { Engine } from "../../engine/engine.ts";
import type { DeadlineClock } from "../../platform/clock.ts";
import type { Store } from "../../store/store.ts";
import type { BatchBacklog } from "../../store/tables/batches.ts";
import type { BatchRow } from "../../store/types/batch-row.ts";
import { StoreError } from "../../store/types/store-error.ts";
import { USUAL_ANSWER } from "../lines/answer-length.ts";
import { InputFiles } from "../lines/input-files.ts";
import { LineDispatcher, type LineDispatcherDeps } from "../lines/line-dispatcher.ts";
import { type Expectation, expectations } from "../shift/eta.ts";
import type { RemainingWork } from "../shift/required-share.ts";
import type { ShiftRules } from "../shift/shift-rules.ts";
import { ShiftWatch, type ShiftWatchDeps } from "../shift/shift-state.ts";
import { Throughput } from "../shift/throughput.ts";
import { BatchValidation, type BatchValidationDeps } from "../validation/batch-validation.ts";
import { EnqueueQuota } from "../validation/enqueue-quota.ts";
import type { ModelBounds } from "../validation/model-bounds.ts";
import { BatchLifecycle, type BatchLifecycleDeps } from "./batch-lifecycle.ts";
import { pauseReason } from "./pause-reason.ts";

export interface BatchRunnerDeps
  extends Omit<LineDispatcherDeps, "engine" | "share" | "store" | "observer" | "inputs">,
    Omit<BatchLifecycleDeps, "laneOf" | "validation" | "store" | "observer">,
    Omit<BatchValidationDeps, "models" | "bounds" | "quota" | "failedEvents" | "store" | "files"> {
  engines: readonly Engine[];
  store: Store;
  clock: DeadlineClock;
  rules: ShiftRules;
  /** Share of time, 0..1, that online work alone took of a model's engine over the last half minute. */
  load: (model: string) => number;
  observer: LineDispatcherDeps["observer"] & { shiftOf(model: string): ShiftWatchDeps["observer"] };
}

interface Crew {
  model: string;
  lane: LineDispatcher;
  shift: ShiftWatch;
  throughput: Throughput;
  settled: LineDispatcher["settled"];
}

/** By batch, in the order of their deadlines. */
interface Forecast {
  /** Of the batches that no budget holds up. */
  running: ReadonlyMap<string, Expectation & { deadlineMs: number }>;
  /** Of all batches, as if none were held up. */
  all: ReadonlyMap<string, Expectation & { deadlineMs: number }>;
}

/** What the night shift knows of a batch that is in progress. */
export interface BatchProgress {
  phase: string;
  reason: string;
  /** 1 is the batch that runs now or next. */
  position: number | null;
  etaMs: number | null;
  /** Why its next line may not run, whatever the shift gives; null when it may. */
  paused: string | null;
  /** Estimated tokens that this model's batch lines get through with their share of the engine; null until measured. */
  tokensPerSecond: number | null;
  linesInEngine: number;
}

const TICK_MS = 1000;

/** All batch work of the server: one lane per model, one steward per batch that is not over. */
export class BatchRunner {
  readonly #deps: BatchRunnerDeps;
  /** What batches may enqueue. */
  readonly quota: EnqueueQuota;
  readonly #crews = new Map<string, Crew>();
  /** Shared by the lanes. */
  readonly #inputs = new InputFiles();
  readonly #stewards = new Map<string, { steward: BatchLifecycle; done: Promise<void> }>();
  #backlog: BatchBacklog[] = [];
  /** Of each model, worked out when it is first asked for after a tick. */
  readonly #forecasts = new Map<string, Forecast>();
  readonly #validation: BatchValidation;
  #timer: NodeJS.Timeout | undefined;
  #tickedAt: number;
  #stopped = false;
  /** What of the last server is not taken up yet: its running lines and its batches, its batches alone, or nothing. */
  #left: "running" | "pending" | "none" = "running";
  #resumeFailed = false;

  constructor(deps: BatchRunnerDeps) {
    this.#deps = deps;
    this.#tickedAt = deps.clock.now();
    const models = deps.engines.map(({ model }) => model);
    this.quota = new EnqueueQuota({
      ...deps,
      models,
      bounds: () => this.bounds(),
      usualAnswer: (model) => this.usualAnswer(model),
    });
    this.#validation = new BatchValidation({
      ...deps,
      models,
      bounds: () => this.bounds(),
      quota: this.quota,
      failedEvents: (batchId) => deps.events("batch.failed", batchId),
    });
    for (const engine of deps.engines) this.#crews.set(engine.model, this.#crew(engine));
  }

  get backlog(): readonly BatchBacklog[] {
    return this.#backlog;
  }

  /** Batches that a used-up budget holds up. */
  get paused(): { model: string; batches: number }[] {
    return [...this.#crews].map(([model, { lane }]) => ({ model, batches: lane.paused.length }));
  }

  /** Tokens of an answer to a batch line, going by late ones. */
  usualAnswer(model: string): number {
    return this.#crews.get(model)?.lane.claimer.usualAnswer ?? USUAL_ANSWER;
  }

  get linesInEngine(): { model: string; lines: number }[] {
    return [...this.#crews].map(([model, { lane }]) => ({ model, lines: lane.inEngine }));
  }

  /** When each batch in progress of a model that is served here is expected to end, and when it has to. */
  get outlook(): { model: string; etaMs: number | null; deadlineMs: number }[] {
    return [...this.#crews].flatMap(([model, crew]) => {
      const { running } = this.#forecastOf(crew);
      return [...running.values()].map(({ etaMs, deadlineMs }) => ({ model, etaMs, deadlineMs }));
    });
  }

  /** Resolves also where the store can't be written: what the last server left is then taken up once it can. */
  async start(): Promise<void> {
    await this.#resume();
    await this.#tick();
  }

  /** Takes up what the last server left: lines that ran are pending again, terminal batches lose their rows. */
  async #resume(): Promise<void> {
    const { store, log } = this.#deps;
    try {
      if (this.#left === "running") {
        const lines = await store.claims.recover();
        if (lines > 0) log.info({ lines }, "Lines that ran at the last server's end are pending again");
        this.#left = "pending";
      }
      const open = await store.batches.open();
      const leftovers = await store.batches.leftovers({ limit: Number.MAX_SAFE_INTEGER });
      this.#left = "none";
      if (open.length > 0) log.info({ batches: open.length }, "Batches go on");
      for (const id of [...open.map((batch) => batch.id), ...leftovers]) this.take(id);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      if (!this.#resumeFailed) log.error({ code: error.code }, "Batches can't go on yet; it is tried each second");
      this.#resumeFailed = true;
    }
  }

  /** Begins with a batch, or looks again at one that was cancelled. */
  take(id: string): void {
    // Until then, running lines are taken for the last server's; a batch that is made meanwhile is among the open ones.
    if (this.#stopped || this.#left === "running") return;
    const known = this.#stewards.get(id);
    if (known !== undefined) {
      known.steward.nudge();
      return;
    }
    const steward = new BatchLifecycle(id, {
      ...this.#deps,
      laneOf: (model) => this.#crews.get(model)?.lane,
      validation: this.#validation,
    });
    const done = steward.run().finally(() => this.#stewards.delete(id));
    this.#stewards.set(id, { steward, done });
  }

  /** From the next second on. */
  setRules(rules: ShiftRules): void {
    for (const { shift } of this.#crews.values()) shift.rules = rules;
  }

  /** Stops what runs; its lines go back to the queue. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    for (const { steward } of this.#stewards.values()) steward.stop();
    await Promise.all([...this.#crews.values()].map(({ lane }) => lane.stop()));
    await this.#inputs.closeAll();
    await Promise.all([...this.#stewards.values()].map(({ done }) => done));
  }

  /** Null for a batch of a model that is not served here. */
  standingOf({ id, model }: BatchRow): BatchProgress | null {
    const crew = model === null ? undefined : this.#crews.get(model);
    if (crew === undefined) return null;
    const { lane, shift, throughput } = crew;
    const { decision } = shift;
    const share = decision?.share ?? 0;
    const { tokensPerSecond } = throughput;
    const usedUp = lane.paused.find(({ batch }) => batch.id === id)?.usedUp ?? [];
    const { running, all } = this.#forecastOf(crew);
    const own = running.get(id) ?? all.get(id);
    return {
      phase: decision?.phase ?? "always",
      reason: lane.obstacle ?? decision?.reason ?? "",
      position: own?.position ?? null,
      etaMs: usedUp.length > 0 ? null : (own?.etaMs ?? null),
      paused: usedUp.length > 0 ? pauseReason(usedUp) : null,
      tokensPerSecond: tokensPerSecond === null ? null : tokensPerSecond * share,
      linesInEngine: lane.inEngineOf(id),
    };
  }

  #forecastOf(crew: Crew): Forecast {
    const { model, lane } = crew;
    const known = this.#forecasts.get(model);
    if (known !== undefined) return known;
    const running = this.#expected(crew, this.#orderOf(model));
    const all = lane.paused.length === 0 ? running : this.#expected(crew, this.#orderOf(model, { paused: true }));
    const forecast = { running, all };
    this.#forecasts.set(model, forecast);
    return forecast;
  }

  #expected({ shift, throughput }: Crew, order: readonly RemainingWork[]): Forecast["running"] {
    const { decision, rules } = shift;
    const now = { phase: decision?.phase ?? "always", share: decision?.share ?? 0 } as const;
    const expected = expectations(rules, now, order, this.#deps.clock.epochMs(), throughput.tokensPerSecond);
    return new Map(expected.map((one, index) => [one.batchId, { ...one, deadlineMs: order[index]!.deadlineMs }]));
  }

  /** What the loaded models are known to refuse. */
  bounds(): Map<string, ModelBounds> {
    const bounds = new Map<string, ModelBounds>();
    for (const { model, facts } of this.#deps.engines) {
      if (facts === null) continue;
      const { vocabulary, context, generates } = facts;
      const embedding = facts.embedding?.pooling === "rank" ? null : facts.embedding;
      bounds.set(model, { vocabulary, context, generates, embedding });
    }
    return bounds;
  }

  #crew(engine: Engine): Crew {
    const { rules, clock, log, observer } = this.#deps;
    const shift = new ShiftWatch(rules, { clock, log, observer: observer.shiftOf(engine.model) });
    const lane = new LineDispatcher({
      ...this.#deps,
      engine,
      inputs: this.#inputs,
      share: () => shift.decision?.share ?? 0,
    });
    return { model: engine.model, lane, shift, throughput: new Throughput(), settled: lane.settled };
  }

  /** The nearest deadline first; without those that a budget holds up, unless they are asked for. */
  #orderOf(model: string, { paused = false } = {}): RemainingWork[] {
    const heldUp = new Set(paused ? [] : this.#crews.get(model)?.lane.paused.map(({ batch }) => batch.id));
    return this.#backlog
      .filter((entry) => entry.model === model && !heldUp.has(entry.batchId))
      .map(({ batchId, owner, tokens, expiresAt }) => ({
        batchId,
        owner,
        remainingTokens: tokens,
        deadlineMs: expiresAt * 1000,
      }));
  }

  async #tick(): Promise<void> {
    const { store, clock, load, log } = this.#deps;
    for (const { steward } of this.#stewards.values()) steward.look();
    try {
      this.#backlog = await store.batches.backlog();
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      if (error.code !== "closed") log.warn({ code: error.code }, "The backlog could not be read");
    }
    const ms = clock.now() - this.#tickedAt;
    this.#tickedAt = clock.now();
    for (const [model, crew] of this.#crews) {
      const { lane, shift, throughput } = crew;
      const { settled, inEngine } = lane;
      const ended = { lines: settled.lines - crew.settled.lines, tokens: settled.tokens - crew.settled.tokens };
      crew.settled = settled;
      const share = shift.decision?.share;
      if (inEngine > 0 || ended.lines > 0) throughput.add({ ms, share: share ?? 0, ended, inEngine });
      shift.look(load(model), this.#orderOf(model), throughput.tokensPerSecond);
      if (shift.decision?.share !== share) lane.wake();
      if (this.#deps.residency.recalled(model)) lane.recall();
    }
    this.#forecasts.clear();
    if (this.#left !== "none" && !this.#stopped) await this.#resume();
    if (this.#stopped) return;
    this.#timer = setTimeout(() => void this.#tick(), TICK_MS);
    this.#timer.unref();
  }
}
