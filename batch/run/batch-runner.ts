import type { Engine } from "../../engine/engine.ts";
import type { Store } from "../../store/store.ts";
import type { BatchBacklog } from "../../store/tables/batches.ts";
import type { BatchRow } from "../../store/types/batch-row.ts";
import { StoreError } from "../../store/types/store-error.ts";
import { USUAL_ANSWER } from "../lines/answer-length.ts";
import { InputFiles } from "../lines/input-files.ts";
import type { ShiftRules } from "../shift/shift-rules.ts";
import { BatchValidation, type BatchValidationDeps } from "../validation/batch-validation.ts";
import type { ModelBounds } from "../validation/model-bounds.ts";
import { TokenQuota } from "../validation/token-quota.ts";
import { BatchLifecycle, type BatchLifecycleDeps } from "./batch-lifecycle.ts";
import type { BatchProgress } from "./batch-progress.ts";
import { ModelBatchWork, type ModelBatchWorkDeps } from "./model-batch-work.ts";

export interface BatchRunnerDeps
  extends Omit<ModelBatchWorkDeps, "engine" | "store" | "inputs">,
    Omit<BatchLifecycleDeps, "dispatcherOf" | "validation" | "store" | "observer">,
    Omit<BatchValidationDeps, "bounds" | "quota" | "failedEvents" | "failedResponse" | "store" | "files" | "clock"> {
  engines: readonly Engine[];
  store: Store;
}

/** Milliseconds between two looks at deadlines, backlog and shift. */
const TICK_MS = 1000;

/** All batch work of the server: the work of each model, and the lifecycle of each batch that is not over. */
export class BatchRunner {
  /** Bound on the tokens that batches may enqueue. */
  readonly quota: TokenQuota;
  readonly #deps: BatchRunnerDeps;
  readonly #works = new Map<string, ModelBatchWork>();
  readonly #engines: Engine[] = [];
  #rules: ShiftRules;
  readonly #inputs = new InputFiles();
  readonly #lifecycles = new Map<string, { lifecycle: BatchLifecycle; done: Promise<void> }>();
  readonly #validation: BatchValidation;
  #backlog: BatchBacklog[] = [];
  #timer: NodeJS.Timeout | undefined;
  #tickedAt: number;
  #stopped = false;
  /** Work of the last server that this one has not resumed yet: running lines and batches, batches alone, or none. */
  #left: "running" | "pending" | "none" = "running";
  #resumeFailed = false;

  constructor(deps: BatchRunnerDeps) {
    this.#deps = deps;
    this.#rules = deps.rules;
    this.#tickedAt = deps.clock.now();
    const bounds = () => this.bounds();
    const usualAnswer = (model: string) => this.usualAnswer(model);
    this.quota = new TokenQuota({ ...deps, bounds, usualAnswer });
    this.#validation = new BatchValidation({
      ...deps,
      bounds,
      quota: this.quota,
      failedEvents: (batchId) => deps.events("batch.failed", batchId),
      failedResponse: (batchId, reason) => deps.responseEnd("batch.failed", batchId, reason),
    });
    for (const engine of deps.engines) this.add(engine);
  }

  /** Adds a model that was found later. Batches that wait for it go on. */
  add(engine: Engine): void {
    this.#engines.push(engine);
    this.#works.set(
      engine.model,
      new ModelBatchWork({ ...this.#deps, rules: this.#rules, engine, inputs: this.#inputs }),
    );
    for (const { lifecycle } of this.#lifecycles.values()) if (lifecycle.missing === engine.model) lifecycle.recheck();
  }

  get backlog(): readonly BatchBacklog[] {
    return this.#backlog;
  }

  /** The number of batches that a used-up budget blocks. */
  get paused(): { model: string; batches: number }[] {
    return [...this.#works].map(([model, { dispatcher }]) => ({ model, batches: dispatcher.paused.length }));
  }

  /** The expected tokens of an answer to a batch line. */
  usualAnswer(model: string): number {
    return this.#works.get(model)?.dispatcher.claimer.usualAnswer ?? USUAL_ANSWER;
  }

  get linesInEngine(): { model: string; lines: number }[] {
    return [...this.#works].map(([model, { dispatcher }]) => ({ model, lines: dispatcher.inEngine }));
  }

  /** The predicted end and the deadline of each batch in progress of a model that is served here. */
  get outlook(): { model: string; etaMs: number | null; deadlineMs: number }[] {
    return [...this.#works.values()].flatMap(({ outlook }) => outlook);
  }

  /** Resolves also where the store is not writable: the work that the last server left is then resumed once it is. */
  async start(): Promise<void> {
    await this.#resume();
    await this.#tick();
  }

  /** Starts the lifecycle of a batch; one that runs reads the batch's row again. */
  schedule(id: string): void {
    // Until then running lines count as the last server's; a batch that is created meanwhile is among the open ones.
    if (this.#stopped || this.#left === "running") return;
    const known = this.#lifecycles.get(id);
    if (known !== undefined) {
      known.lifecycle.recheck();
      return;
    }
    const lifecycle = new BatchLifecycle(id, {
      ...this.#deps,
      dispatcherOf: (model) => this.#works.get(model)?.dispatcher,
      validation: this.#validation,
    });
    const done = lifecycle.run().finally(() => this.#lifecycles.delete(id));
    this.#lifecycles.set(id, { lifecycle, done });
  }

  /** Takes effect within a second. */
  setRules(rules: ShiftRules): void {
    this.#rules = rules;
    for (const work of this.#works.values()) work.setRules(rules);
  }

  /** Aborts the lines in the engines; they are pending again. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    for (const { lifecycle } of this.#lifecycles.values()) lifecycle.stop();
    await Promise.all([...this.#works.values()].map(({ dispatcher }) => dispatcher.stop()));
    await this.#inputs.closeAll();
    await Promise.all([...this.#lifecycles.values()].map(({ done }) => done));
  }

  /** Null for a batch of a model that is not served here. */
  progressOf({ id, model }: BatchRow): BatchProgress | null {
    const work = model === null ? undefined : this.#works.get(model);
    return work?.progressOf(id) ?? null;
  }

  /** By model; known once a model was loaded. */
  bounds(): Map<string, ModelBounds> {
    const bounds = new Map<string, ModelBounds>();
    for (const { model, facts } of this.#engines) {
      if (facts === null) continue;
      const { vocabulary, context, generates, infill, upstream } = facts;
      const embedding = facts.embedding?.pooling === "rank" ? null : facts.embedding;
      bounds.set(model, { vocabulary, context, generates, infill, embedding, upstream });
    }
    return bounds;
  }

  /** Resumes the work that the last server left: its running lines are pending again, and its open batches go on. */
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
      for (const id of [...open.map((batch) => batch.id), ...leftovers]) this.schedule(id);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      if (!this.#resumeFailed) log.error({ code: error.code }, "Batches can't go on yet; it is tried each second");
      this.#resumeFailed = true;
    }
  }

  async #tick(): Promise<void> {
    const { store, clock, log } = this.#deps;
    for (const { lifecycle } of this.#lifecycles.values()) lifecycle.checkDeadline();
    try {
      this.#backlog = await store.batches.backlog();
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      if (error.code !== "closed") log.warn({ code: error.code }, "The backlog could not be read");
    }
    const ms = clock.now() - this.#tickedAt;
    this.#tickedAt = clock.now();
    for (const work of this.#works.values()) work.tick(ms, this.#backlog);
    if (this.#left !== "none" && !this.#stopped) await this.#resume();
    if (this.#stopped) return;
    this.#timer = setTimeout(() => void this.#tick(), TICK_MS);
    this.#timer.unref();
  }
}
