import type { DeadlineClock } from "../../platform/clock.ts";
import type { BatchBacklog } from "../../store/tables/batches.ts";
import { LineDispatcher, type LineDispatcherDeps } from "../lines/line-dispatcher.ts";
import { type Eta, etas } from "../shift/eta.ts";
import type { RemainingWork } from "../shift/required-share.ts";
import type { ShiftRules } from "../shift/shift-rules.ts";
import { ShiftState, type ShiftStateDeps } from "../shift/shift-state.ts";
import { Throughput } from "../shift/throughput.ts";
import type { BatchProgress } from "./batch-progress.ts";
import { pauseReason } from "./pause-reason.ts";

export interface ModelBatchWorkDeps extends Omit<LineDispatcherDeps, "share"> {
  clock: DeadlineClock;
  rules: ShiftRules;
  /** Share of time, 0..1, that online work alone took of a model's engine over the last half minute. */
  load: (model: string) => number;
  observer: LineDispatcherDeps["observer"] & { shiftOf(model: string): ShiftStateDeps["observer"] };
}

/** By batch, in the order of their deadlines. */
type EtaByBatch = ReadonlyMap<string, Eta & { deadlineMs: number }>;

interface Forecast {
  /** Of the batches that no budget blocks. */
  running: EtaByBatch;
  /** Of all batches, as if no budget blocked any. */
  all: EtaByBatch;
}

/** The batch work of one model: its lines, the shift that gives them a share of the engine, and the forecast of its batches. */
export class ModelBatchWork {
  readonly model: string;
  readonly dispatcher: LineDispatcher;
  readonly #deps: ModelBatchWorkDeps;
  readonly #shift: ShiftState;
  readonly #throughput = new Throughput();
  /** Lines that had ended at the last tick. */
  #settled: LineDispatcher["settled"];
  /** Of this model, the nearest deadline first. */
  #backlog: readonly BatchBacklog[] = [];
  /** Made when it is first read after a tick. */
  #forecast: Forecast | null = null;

  constructor(deps: ModelBatchWorkDeps) {
    const { engine, rules, clock, log, observer } = deps;
    this.#deps = deps;
    this.model = engine.model;
    const shiftLog = {
      info: (fields: object, message: string) => log.info({ model: engine.model, ...fields }, message),
    };
    this.#shift = new ShiftState(rules, { clock, log: shiftLog, observer: observer.shiftOf(engine.model) });
    this.dispatcher = new LineDispatcher({ ...deps, share: () => this.#shift.decision?.share ?? 0 });
    this.#settled = this.dispatcher.settled;
  }

  /** Takes effect at the next tick. */
  setRules(rules: ShiftRules): void {
    this.#shift.rules = rules;
  }

  /** The predicted end and the deadline of each batch that no budget blocks. */
  get outlook(): { model: string; etaMs: number | null; deadlineMs: number }[] {
    const { running } = this.#forecasted();
    return [...running.values()].map(({ etaMs, deadlineMs }) => ({ model: this.model, etaMs, deadlineMs }));
  }

  progressOf(batchId: string): BatchProgress {
    const { dispatcher } = this;
    const { decision } = this.#shift;
    const { tokensPerSecond } = this.#throughput;
    const usedUp = dispatcher.paused.find(({ batch }) => batch.id === batchId)?.usedUp ?? [];
    const { running, all } = this.#forecasted();
    const own = running.get(batchId) ?? all.get(batchId);
    return {
      phase: decision?.phase ?? "always",
      reason: dispatcher.obstacle ?? decision?.reason ?? "",
      position: own?.position ?? null,
      etaMs: usedUp.length > 0 ? null : (own?.etaMs ?? null),
      paused: usedUp.length > 0 ? pauseReason(usedUp) : null,
      tokensPerSecond: tokensPerSecond === null ? null : tokensPerSecond * (decision?.share ?? 0),
      linesInEngine: dispatcher.inEngineOf(batchId),
    };
  }

  /**
   * Measures the throughput since the last tick, and decides the share of the engine anew.
   *
   * @param ms milliseconds since the last tick
   * @param backlog of all models, the nearest deadline first
   */
  tick(ms: number, backlog: readonly BatchBacklog[]): void {
    const { load, residency } = this.#deps;
    const { dispatcher, model } = this;
    this.#backlog = backlog.filter((entry) => entry.model === model);
    this.#forecast = null;
    const { settled, inEngine } = dispatcher;
    const ended = { lines: settled.lines - this.#settled.lines, tokens: settled.tokens - this.#settled.tokens };
    this.#settled = settled;
    const share = this.#shift.decision?.share;
    if (inEngine > 0 || ended.lines > 0) this.#throughput.add({ ms, share: share ?? 0, ended, inEngine });
    this.#shift.update(load(model), this.#remaining(), this.#throughput.tokensPerSecond);
    if (this.#shift.decision?.share !== share) dispatcher.wake();
    if (residency.recalled(model)) dispatcher.recall();
  }

  #forecasted(): Forecast {
    if (this.#forecast !== null) return this.#forecast;
    const running = this.#etasOf(this.#remaining());
    const all = this.dispatcher.paused.length === 0 ? running : this.#etasOf(this.#remaining({ paused: true }));
    this.#forecast = { running, all };
    return this.#forecast;
  }

  #etasOf(work: readonly RemainingWork[]): EtaByBatch {
    const { decision, rules } = this.#shift;
    const now = { phase: decision?.phase ?? "always", share: decision?.share ?? 0 } as const;
    const expected = etas(rules, now, work, this.#deps.clock.epochMs(), this.#throughput.tokensPerSecond);
    return new Map(expected.map((eta, index) => [eta.batchId, { ...eta, deadlineMs: work[index]!.deadlineMs }]));
  }

  /** The nearest deadline first. `paused` includes the batches that a budget blocks. */
  #remaining({ paused = false } = {}): RemainingWork[] {
    const blocked = new Set(paused ? [] : this.dispatcher.paused.map(({ batch }) => batch.id));
    return this.#backlog
      .filter(({ batchId }) => !blocked.has(batchId))
      .map(({ batchId, owner, tokens, expiresAt }) => ({
        batchId,
        owner,
        remainingTokens: tokens,
        deadlineMs: expiresAt * 1000,
      }));
  }
}
