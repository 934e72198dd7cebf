import type { SequenceStart, StepMessage, StepStats } from "../protocol.ts";
import type { Generation } from "./generation.ts";
import { redrawRefused } from "./grammar/redraw.ts";
import type { KvCache } from "./kv/cache.ts";
import type { Context } from "./native/context.ts";
import type { Vocabulary } from "./native/vocabulary.ts";
import type { Scheduler, Step } from "./scheduler/scheduler.ts";
import { remaining } from "./scheduler/sequence.ts";
import type { PlanEntry } from "./scheduler/step-draft.ts";
import type { StepModel } from "./scheduler/step-model.ts";

export interface StepLoopParts {
  context: Context;
  vocabulary: Vocabulary;
  cache: KvCache;
  scheduler: Scheduler<Generation>;
  stepModel: StepModel;
  /** Milliseconds, monotonic. */
  now: () => number;
  post: (message: StepMessage) => void;
  /** Its grammar allows no token: its request can't go on. */
  stuck: (generation: Generation) => void;
}

/** A step whose tokens are drawn, and whose text is made while the next one computes. */
interface DrawnStep {
  started: SequenceStart[];
  drawn: Generation[];
  stats: StepStats;
}

/**
 * The engine's heart: plan, fill, decode, draw; and while the decode runs on another thread, the text of the step before.
 * Sequences join and leave between two steps. A stop string found in the text of step k ends a sequence that step k+1 is
 * already computing: that one token is dropped.
 */
export class StepLoop {
  readonly #parts: StepLoopParts;
  readonly #cancelled = new Set<Generation>();
  #last: DrawnStep | null = null;
  #wake: (() => void) | null = null;

  constructor(parts: StepLoopParts) {
    this.#parts = parts;
  }

  add(generation: Generation): void {
    this.#parts.scheduler.add(generation);
    this.#wake?.();
  }

  /** Takes effect before the next step: while one computes, nothing may be taken from its hands. */
  cancel(generation: Generation): void {
    if (generation.state === "ended") return;
    generation.cancelled = true;
    this.#cancelled.add(generation);
    this.#wake?.();
  }

  /** Runs for as long as the process lives. @throws DecodeError when llama.cpp can't go on */
  async run(): Promise<never> {
    for (;;) {
      if (await this.#step()) continue;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#wake = null;
    }
  }

  /** @returns false when nothing was left that a step could compute or tell */
  async #step(): Promise<boolean> {
    const { context, scheduler, stepModel, cache, now } = this.#parts;
    const begin = now();
    for (const generation of this.#cancelled) this.#end(generation);
    this.#cancelled.clear();
    const step = scheduler.next();
    const { entries, started } = step;
    if (entries.length === 0) {
      const rest = this.#last !== null;
      this.#tell();
      return rest;
    }
    const planned = now();
    const announced = announce(started);
    const rows = this.#fill(entries);
    const filled = now();
    const decoding = context.decode();
    const telling = this.#tell();
    await decoding;
    const decoded = now();
    const stats: StepStats = {
      planMs: planned - begin,
      fillMs: filled - planned,
      decodeMs: decoded - filled,
      ...telling,
      sampleMs: 0,
      totalMs: 0,
      ...forecastOf(step),
      batchSize: entries.length,
      running: scheduler.running,
      waiting: scheduler.waiting,
      cellsUsed: 0,
      cells: cache.cells,
      ...cache.takeEvents(),
      parkedBytes: cache.host.used,
    };
    for (const { sequence, count } of entries) sequence.computed += count;
    const drawn = await this.#draw(rows);
    stats.cellsUsed = cache.used;
    stats.sampleMs = now() - decoded;
    stepModel.observe(step.shape, stats.decodeMs + stats.sampleMs);
    stats.totalMs = now() - begin;
    this.#last = { started: announced, drawn, stats };
    return true;
  }

  /** @returns for each sequence that gets a token, the row of its logits */
  #fill(entries: PlanEntry<Generation>[]): Map<Generation, number> {
    const { batch } = this.#parts.context;
    const rows = new Map<Generation, number>();
    batch.clear();
    for (const { sequence, count } of entries) {
      const { tokens, computed, id } = sequence;
      const produces = count === remaining(sequence);
      for (let i = 0; i < count; i++) {
        const last = produces && i === count - 1;
        const row = batch.add(tokens[computed + i]!, computed + i, id, last);
        if (last) rows.set(sequence, row);
      }
    }
    return rows;
  }

  async #draw(rows: Map<Generation, number>): Promise<Generation[]> {
    const { context, vocabulary } = this.#parts;
    const drawing = [...rows.keys()].filter((generation) => generation.state === "running" && !generation.cancelled);
    for (const generation of drawing) generation.rules?.apply(context.logits(rows.get(generation)!));
    const sample = (generations: Generation[]) =>
      context.sample(
        generations.map((generation) => generation.sampler),
        generations.map((generation) => rows.get(generation)!),
      );
    const tokens = await sample(drawing);
    const draws = drawing.map((generation, i) => {
      return { generation, constraint: generation.constraint, row: rows.get(generation)!, token: tokens[i]! };
    });
    const stuck = await redrawRefused(draws, {
      logits: (row) => context.logits(row),
      sample: (again) => sample(again.map(({ generation }) => generation)),
    });
    for (const draw of draws) {
      const { generation, token } = draw;
      if (stuck.has(draw)) {
        this.#parts.stuck(generation);
        continue;
      }
      generation.accept(token, vocabulary);
      if (generation.finished) this.#end(generation);
    }
    return drawing;
  }

  /** Makes the last step's text and posts it. @returns the milliseconds that each of the two took */
  #tell(): Pick<StepStats, "textMs" | "postMs"> {
    const last = this.#last;
    if (last === null) return { textMs: 0, postMs: 0 };
    this.#last = null;
    const { vocabulary, scheduler, stepModel, post, now } = this.#parts;
    const begin = now();
    const outputs = [];
    for (const generation of last.drawn) {
      if (generation.cancelled) continue;
      const output = generation.output(vocabulary);
      if (output === null) continue;
      outputs.push(output);
      // Its stop string is complete, but the step that runs has it in its batch: it leaves before the next.
      if (output.finish !== null && generation.state === "running") this.cancel(generation);
    }
    const backlog = { ...scheduler.backlog, fit: stepModel.settled ? stepModel.fit : null };
    const made = now();
    post({ type: "step", backlog, started: last.started, outputs, stats: last.stats });
    return { textMs: made - begin, postMs: now() - made };
  }

  #end(generation: Generation): void {
    if (generation.state === "ended") return;
    this.#parts.scheduler.end(generation);
    generation.sampler.free();
  }
}

function announce(started: Generation[]): SequenceStart[] {
  // One that was sent back for want of cells before it computed anything starts again later.
  const first = started.filter((generation) => !generation.announced && generation.state === "running");
  return first.map((generation) => {
    generation.announced = true;
    return { id: generation.request.id, index: generation.index, cachedTokens: generation.computed };
  });
}

function forecastOf({ shape, predictedMs, onlineMs, onlineTokens, lowerTokens }: Step<Generation>) {
  return { prefillTokens: shape.prefill, decodeTokens: shape.decode, predictedMs, onlineMs, onlineTokens, lowerTokens };
}
