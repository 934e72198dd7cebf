import type { EngineError } from "../../protocol/messages.ts";
import type { SequenceStart } from "../../protocol/output.ts";
import { deadEnd, noRoom } from "../../protocol/refusal.ts";
import type { Tier } from "../../protocol/request.ts";
import type { StepMessage, StepStats } from "../../protocol/step.ts";
import { costShares, timeShares, type WorkPart } from "../cost/cost-attribution.ts";
import type { ObjectiveWatch } from "../cost/objectives.ts";
import type { StepModel } from "../cost/step-model.ts";
import type { Want } from "../embedding/step-sharing.ts";
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
  /** Its request can't go on. */
  fail: (generation: EngineSequence, error: EngineError) => void;
  /** There is something to do. */
  wake: () => void;
}

/** Where in a step's batch logits are looked for. */
interface FilledStep {
  /** Of each sequence that gets a token, its row. */
  rows: Map<EngineSequence, number>;
  /** Tokens of prompts that are to be scored, in order. */
  scored: { sequence: EngineSequence; position: number; row: number }[];
}

/** A step whose tokens are drawn, and whose text is made while the next one computes. */
interface DrawnStep {
  begin: number;
  started: SequenceStart[];
  drawn: EngineSequence[];
  stats: StepStats;
}

/**
 * The engine's heart: plan, fill, decode, draw; and while the decode runs on another thread, the text of the step before.
 * Sequences join and leave between two steps. A stop string found in the text of step k ends a sequence that step k+1 is
 * already computing: that one token is dropped.
 */
export class StepLoop {
  readonly #parts: StepLoopParts;
  readonly #cancelled = new Set<EngineSequence>();
  #last: DrawnStep | null = null;

  constructor(parts: StepLoopParts) {
    this.#parts = parts;
  }

  add(generation: EngineSequence): void {
    this.#parts.scheduler.add(generation);
    this.#parts.wake();
  }

  /** Takes effect before the next step: while one computes, nothing may be taken from its hands. */
  cancel(generation: EngineSequence): void {
    if (generation.state === "ended") return;
    generation.cancelled = true;
    this.#cancelled.add(generation);
    this.#parts.wake();
  }

  /** What its sequences are, by the best of them. */
  get want(): Want {
    const { running, waiting } = this.#parts.scheduler.byTier;
    const count = (tier: Tier) => running[tier] + waiting[tier];
    if (count("priority") + count("default") > 0) return "online";
    return count("flex") + count("batch") > 0 ? "lower" : "nothing";
  }

  /** Tells what the last step has brought, when the next one is not to come at once. */
  flush(): void {
    this.#tell();
  }

  /** @returns false when nothing was left that a step could compute or tell @throws DecodeError when llama.cpp can't go on */
  async step(): Promise<boolean> {
    const { context, scheduler, stepModel, cache, now } = this.#parts;
    const begin = now();
    for (const generation of this.#cancelled) this.#end(generation);
    this.#cancelled.clear();
    const step = scheduler.schedule();
    const { entries } = step;
    if (entries.length === 0) {
      const rest = this.#last !== null;
      this.#tell();
      if (step.unstartable === null) return rest;
      this.#parts.fail(step.unstartable, noRoom());
      return true;
    }
    const planned = now();
    const announced = announce(entries.map(({ sequence }) => sequence));
    const { rows, scored } = this.#fill(entries);
    const filled = now();
    const decoding = context.decode();
    const telling = this.#tell();
    // While it computes, as all that nobody waits for.
    const shares = costShares(entries.map(partOf), step.shape.passes, stepModel.fit);
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
      preempted: step.preempted,
      cellsUsed: 0,
      cells: cache.cells,
      ...cache.prefixes.takeEvents(),
      offloadedBytes: cache.prefixes.host.used,
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
        const wanted = sequence.scored && sequence.logprobs?.wants(position) === true;
        const row = batch.add(tokens[position]!, position, id, last || wanted);
        if (last) rows.set(sequence, row);
        if (wanted) scored.push({ sequence, position, row });
      }
    }
    return { rows, scored };
  }

  async #draw(rows: Map<EngineSequence, number>): Promise<EngineSequence[]> {
    const { context, vocabulary } = this.#parts;
    const reached = [...rows.keys()].filter((generation) => generation.state === "running" && !generation.cancelled);
    const drawing = reached.filter((generation) => !generation.promptOnly);
    for (const generation of drawing) {
      const { rules, constraint } = generation;
      // The model's own distribution: whoever writes into the row comes after.
      generation.logprobs?.read(context.logits(rows.get(generation)!), rules !== null || constraint !== null);
      rules?.apply(context.logits(rows.get(generation)!));
    }
    const sample = (generations: EngineSequence[]) =>
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
      const { generation } = draw;
      if (stuck.has(draw)) {
        this.#parts.fail(generation, deadEnd());
        continue;
      }
      const token = generation.chosen(draw.token);
      generation.logprobs?.draw(token);
      generation.accept(token, vocabulary);
    }
    for (const generation of reached) {
      if (generation.promptOnly) generation.complete();
      if (generation.finished) this.#end(generation);
    }
    return reached;
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
    post({ type: "step", backlog, agoMs: made - last.begin, started: last.started, outputs, stats: last.stats });
    return { textMs: made - begin, postMs: now() - made };
  }

  #end(generation: EngineSequence): void {
    if (generation.state === "ended") return;
    this.#parts.scheduler.end(generation);
    generation.sampler.free();
  }
}

/** Those of a plan that no plan before had. */
function announce(planned: EngineSequence[]): SequenceStart[] {
  const first = planned.filter((generation) => !generation.announced);
  return first.map((generation) => {
    generation.announced = true;
    return { id: generation.request.id, index: generation.index, cachedTokens: generation.computed };
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
