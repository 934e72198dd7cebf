import type { EngineError } from "../../protocol/messages.ts";
import type { SequenceStart } from "../../protocol/output.ts";
import type { Tier } from "../../protocol/request.ts";
import { deadEnd, noRoom } from "../../protocol/request-refusal.ts";
import type { StepMessage, StepStats } from "../../protocol/step.ts";
import { costShares, timeShares, type WorkPart } from "../cost/cost-attribution.ts";
import type { ObjectiveWatch } from "../cost/objectives.ts";
import type { StepModel } from "../cost/step-model.ts";
import type { WorkClass } from "../embedding/step-sharing.ts";
import { redrawRefused } from "../grammar/resample.ts";
import type { KvCache } from "../kv/kv-cache.ts";
import type { Context } from "../native/context.ts";
import type { DecodeBatch } from "../native/decode-batch.ts";
import { isDecode, remaining } from "../scheduler/scheduled-sequence.ts";
import type { Scheduler, Step } from "../scheduler/scheduler.ts";
import type { PlanEntry } from "../scheduler/step-draft.ts";
import type { EngineSequence, TokenTexts } from "./sequence.ts";

export interface StepLoopParts {
  context: Pick<Context, "decode" | "sample" | "logits"> & { batch: Pick<DecodeBatch, "clear" | "add"> };
  vocabulary: TokenTexts;
  cache: KvCache;
  scheduler: Scheduler<EngineSequence>;
  stepModel: StepModel;
  objectives: ObjectiveWatch;
  /** Milliseconds, monotonic. */
  now: () => number;
  post: (message: StepMessage) => void;
  /** Ends a request with an error. */
  fail: (sequence: EngineSequence, error: EngineError) => void;
  /** Wakes the work loop. */
  wake: () => void;
}

/** The rows of a step's batch whose logits are read. */
interface FilledStep {
  /** The row of each sequence that gets a token. */
  rows: Map<EngineSequence, number>;
  /** Prompt tokens to score, in order. */
  scored: { sequence: EngineSequence; position: number; row: number }[];
}

/** A step whose tokens are drawn, and whose text is made while the next step computes. */
interface DrawnStep {
  begin: number;
  started: SequenceStart[];
  drawn: EngineSequence[];
  stats: StepStats;
}

/**
 * One step: schedule, fill the batch, decode, draw. While the decode runs on another thread, the text of the step before is
 * made and posted. Sequences are added and removed between two steps. A stop string in the text of step k ends a sequence that
 * step k+1 already computes: that token is dropped.
 */
export class StepLoop {
  readonly #parts: StepLoopParts;
  readonly #cancelled = new Set<EngineSequence>();
  #last: DrawnStep | null = null;

  constructor(parts: StepLoopParts) {
    this.#parts = parts;
  }

  add(sequence: EngineSequence): void {
    this.#parts.scheduler.add(sequence);
    this.#parts.wake();
  }

  /** Takes effect before the next step: sequences of the step that computes now must not change. */
  cancel(sequence: EngineSequence): void {
    if (sequence.state === "ended") return;
    sequence.cancelled = true;
    this.#cancelled.add(sequence);
    this.#parts.wake();
  }

  /** The best tier among the sequences. */
  get workClass(): WorkClass {
    const { running, waiting } = this.#parts.scheduler.byTier;
    const count = (tier: Tier) => running[tier] + waiting[tier];
    if (count("priority") + count("default") > 0) return "online";
    return count("flex") + count("batch") > 0 ? "lower" : "nothing";
  }

  /** Posts the last step's output when the next step does not follow at once. */
  flush(): void {
    this.#post();
  }

  /** @returns false when there was nothing to compute or to post @throws DecodeError when llama.cpp cannot continue */
  async step(): Promise<boolean> {
    const { context, scheduler, stepModel, cache, now } = this.#parts;
    const begin = now();
    for (const sequence of this.#cancelled) this.#end(sequence);
    this.#cancelled.clear();
    const step = scheduler.schedule();
    const { entries } = step;
    if (entries.length === 0) {
      const rest = this.#last !== null;
      this.#post();
      if (step.unstartable === null) return rest;
      this.#parts.fail(step.unstartable, noRoom());
      return true;
    }
    const planned = now();
    const announced = announce(entries.map(({ sequence }) => sequence));
    const { rows, scored } = this.#fill(entries);
    const filled = now();
    const decoding = context.decode();
    const posting = this.#post();
    // Computed during the decode, as everything that does not delay a token.
    const shares = costShares(entries.map(partOf), step.shape.passes, stepModel.fit);
    await decoding;
    const decoded = now();
    const stats: StepStats = {
      planMs: planned - begin,
      fillMs: filled - planned,
      decodeMs: decoded - filled,
      ...posting,
      sampleMs: 0,
      totalMs: 0,
      ...forecastOf(step),
      batchSize: entries.length,
      running: scheduler.running,
      waiting: scheduler.waiting,
      preempted: step.preempted,
      cellsUsed: 0,
      cells: cache.cells,
      ...cache.prefixes.takeEvents(),
      offloadedBytes: cache.prefixes.host.copies.used,
      shares: [],
    };
    for (const { sequence, count } of entries) sequence.computed += count;
    for (const { sequence, position, row } of scored) sequence.logprobs?.score(position, context.logits(row));
    const drawn = await this.#draw(rows);
    const ended = now();
    stats.sampleMs = ended - decoded;
    stats.totalMs = ended - begin;
    stats.cellsUsed = cache.used;
    stepModel.observe(step.shape, stats.decodeMs + stats.sampleMs);
    scheduler.measured(step, stats.totalMs);
    if (step.shape.prefill === 0 && step.onlineTokens > 0)
      this.#parts.objectives.observe(step.onlineMs, stepModel, stepModel.settled);
    stats.shares = timeShares(shares, stats.totalMs);
    this.#last = { begin, started: announced, drawn, stats };
    return true;
  }

  #fill(entries: PlanEntry<EngineSequence>[]): FilledStep {
    const { batch } = this.#parts.context;
    const rows = new Map<EngineSequence, number>();
    const scored: FilledStep["scored"] = [];
    batch.clear();
    for (const { sequence, count } of entries) {
      const { tokens, computed, id } = sequence;
      const produces = count === remaining(sequence);
      for (let i = 0; i < count; i++) {
        const last = produces && i === count - 1;
        const position = computed + i;
        const needed = sequence.scored && sequence.logprobs?.needs(position) === true;
        const row = batch.add(tokens[position]!, position, id, last || needed);
        if (last) rows.set(sequence, row);
        if (needed) scored.push({ sequence, position, row });
      }
    }
    return { rows, scored };
  }

  async #draw(rows: Map<EngineSequence, number>): Promise<EngineSequence[]> {
    const { context, vocabulary } = this.#parts;
    const reached = [...rows.keys()].filter((sequence) => sequence.state === "running" && !sequence.cancelled);
    const drawing = reached.filter((sequence) => !sequence.promptOnly);
    for (const sequence of drawing) {
      const { rules, constraint } = sequence;
      // The model's own distribution is read before rules and grammars change the row.
      sequence.logprobs?.read(context.logits(rows.get(sequence)!), rules !== null || constraint !== null);
      rules?.apply(context.logits(rows.get(sequence)!));
    }
    const sample = (sequences: EngineSequence[]) =>
      context.sample(
        sequences.map((sequence) => sequence.sampler),
        sequences.map((sequence) => rows.get(sequence)!),
      );
    const tokens = await sample(drawing);
    const draws = drawing.map((sequence, i) => {
      return { sequence, constraint: sequence.constraint, row: rows.get(sequence)!, token: tokens[i]! };
    });
    const stuck = await redrawRefused(draws, {
      logits: (row) => context.logits(row),
      sample: (again) => sample(again.map(({ sequence }) => sequence)),
    });
    for (const draw of draws) {
      const { sequence } = draw;
      if (stuck.has(draw)) {
        this.#parts.fail(sequence, deadEnd());
        continue;
      }
      const token = sequence.chosen(draw.token);
      sequence.logprobs?.draw(token);
      sequence.accept(token, vocabulary);
    }
    for (const sequence of reached) {
      if (sequence.promptOnly) sequence.complete();
      if (sequence.finished) this.#end(sequence);
    }
    return reached;
  }

  /** Makes the last step's text and posts it. @returns the milliseconds of each */
  #post(): Pick<StepStats, "textMs" | "postMs"> {
    const last = this.#last;
    if (last === null) return { textMs: 0, postMs: 0 };
    this.#last = null;
    const { vocabulary, scheduler, stepModel, post, now } = this.#parts;
    const begin = now();
    const outputs = [];
    for (const sequence of last.drawn) {
      if (sequence.cancelled) continue;
      const output = sequence.output(vocabulary);
      if (output === null) continue;
      outputs.push(output);
      // The stop string is complete, but the current step computes the sequence: it ends before the next one.
      if (output.finish !== null && sequence.state === "running") this.cancel(sequence);
    }
    const backlog = { ...scheduler.backlog, fit: stepModel.settled ? stepModel.fit : null };
    const made = now();
    post({ type: "step", backlog, agoMs: made - last.begin, started: last.started, outputs, stats: last.stats });
    return { textMs: made - begin, postMs: now() - made };
  }

  #end(sequence: EngineSequence): void {
    if (sequence.state === "ended") return;
    this.#parts.scheduler.end(sequence);
    sequence.sampler.free();
  }
}

/** The starts of planned sequences that were not announced before. */
function announce(planned: EngineSequence[]): SequenceStart[] {
  const first = planned.filter((sequence) => !sequence.announced);
  return first.map((sequence) => {
    sequence.announced = true;
    return { id: sequence.request.id, index: sequence.index, cachedTokens: sequence.computed };
  });
}

function partOf({ sequence, count, kv, read }: PlanEntry<EngineSequence>): WorkPart {
  const { tier, endpoint } = sequence;
  return isDecode(sequence)
    ? { tier, endpoint, prefill: 0, decode: count, kv, read }
    : { tier, endpoint, prefill: count, decode: 0, kv, read };
}

function forecastOf({ shape, predictedMs, onlineMs, onlineTokens, lowerTokens }: Step<EngineSequence>) {
  return { prefillTokens: shape.prefill, decodeTokens: shape.decode, predictedMs, onlineMs, onlineTokens, lowerTokens };
}
