import type { LineShape } from "../load/batch-work.ts";
import type { Arrival } from "../load/traffic.ts";
import type { StepCosts } from "./step-costs.ts";

export interface OracleRules {
  /** Concurrent sequences. */
  sequences: number;
  /** Most prompt tokens of a step. */
  stepTokens: number;
  /** Fraction by which batch work may lengthen a step with online work. */
  tax: number;
  /** Most milliseconds of a step with batch work alone. */
  batchStepMs: number;
  /** ITL objective of online streams, which bounds the chunk of a prompt beside streams. */
  itlMs: number;
  /** True when decodes and a chunk are two passes over the weights, as in a split cache. */
  twoPasses: boolean;
}

export interface OracleResult {
  /** Batch tokens generated within the time. */
  batchTokens: number;
  /** Fraction of the time that online work alone would have taken. */
  onlineShare: number;
  /** Times to the first token in milliseconds, in the order of those tokens. */
  ttfts: number[];
}

/**
 * Step costs of the two kinds of steps: many small ones with online work, and few full ones without. One linear fit
 * over both would be wrong for each.
 */
export interface OracleCosts {
  online: StepCosts;
  batch: StepCosts;
}

interface Running {
  /** Arrival time in milliseconds; 0 for lines. */
  since: number;
  /** Computed tokens. */
  at: number;
  prompt: number;
  /** Remaining tokens of its answer. */
  tokens: number;
}

/** Smallest chunk of a step even when streams miss their objective. */
const LEAST_CHUNK = 16;
const LEAST_STEP_MS = 0.01;
const NO_LINE: LineShape = { prompt: 0, tokens: 0 };

/** The contents of a step so far, and its cost. */
class Step {
  readonly #costs: StepCosts;
  readonly #pass: number;
  #decodes = 0;
  #read = 0;
  #kv = 0;
  /** The same for prompts. */
  #readKv = 0;

  constructor(costs: StepCosts, { twoPasses }: OracleRules) {
    this.#costs = costs;
    this.#pass = twoPasses ? costs.pass : 0;
  }

  get read(): number {
    return this.#read;
  }

  get ms(): number {
    return this.#price(this.#decodes, this.#read, this.#kv, this.#readKv);
  }

  msWithDecode({ at }: Running): number {
    return this.#price(this.#decodes + 1, this.#read, this.#kv + at + 1, this.#readKv);
  }

  decode({ at }: Running): void {
    this.#decodes++;
    this.#kv += at + 1;
  }

  /** The most tokens of a prompt, up to `most`, with which the step stays within `ms`. */
  fitting({ at }: Running, most: number, ms: number): number {
    let fits = 0;
    for (let over = most + 1; over - fits > 1; ) {
      const middle = (fits + over) >> 1;
      if (this.#price(this.#decodes, this.#read + middle, this.#kv, this.#readKv + attended(at, middle)) <= ms)
        fits = middle;
      else over = middle;
    }
    return fits;
  }

  prefill(running: Running, count: number): void {
    this.#readKv += attended(running.at, count);
    this.#read += count;
    running.at += count;
  }

  #price(decodes: number, read: number, kv: number, readKv: number): number {
    const { fixed, prefill, decode, kv: perCell, read: perRead } = this.#costs;
    const attention = perCell * kv + perRead * readKv;
    return fixed + decode * decodes + prefill * read + attention + (decodes > 0 && read > 0 ? this.#pass : 0);
  }
}

/** Cells that `count` tokens after `at` others attend over, summed. */
function attended(at: number, count: number): number {
  return count * at + (count * (count + 1)) / 2;
}

/**
 * The throughput of a scheduler with exact step costs, which takes no time between steps, offloads and resumes at no
 * cost and never lacks lines, under the same bounds: with online work a step is at most `tax` longer than without batch
 * work and never beyond `itlMs`; without online work it takes at most `batchStepMs`. Online work runs as it would
 * alone. Steps are simulated one by one: a step with online work takes as many batch decodes as fit; a step without
 * reads batch prompts until as many lines decode as fit into a step, then decodes them.
 *
 * @param line null for online work alone, which is then completed
 */
export function oracle(
  costs: OracleCosts,
  rules: OracleRules,
  line: LineShape | null,
  arrivals: readonly Arrival[],
  seconds: number,
): OracleResult {
  const end = seconds * 1000;
  const online: Running[] = [];
  const batch: Running[] = [];
  const fresh = (): Running => ({ since: 0, at: 0, ...(line ?? NO_LINE) });
  let reading = fresh();
  let next = 0;
  let now = 0;
  let onlineMs = 0;
  let batchTokens = 0;
  const ttfts: number[] = [];

  const isDecode = (running: Running) => running.at >= running.prompt;
  /** The first lines are first, so that some end soon. */
  const addDecodes = (step: Step, most: number, ms: number) => {
    const decodes: Running[] = [];
    for (const running of batch) {
      if (decodes.length >= most || step.msWithDecode(running) > ms) break;
      step.decode(running);
      decodes.push(running);
    }
    for (const running of decodes) advance(running);
    batchTokens += decodes.length;
    removeEnded(batch);
  };
  const onlineStep = () => {
    const step = new Step(costs.online, rules);
    const streams = online.filter(isDecode);
    for (const stream of streams) step.decode(stream);
    const most = streams.length > 0 ? rules.itlMs : Number.POSITIVE_INFINITY;
    const firsts: Running[] = [];
    for (const request of online) {
      if (isDecode(request)) continue;
      const left = Math.min(request.prompt - request.at, rules.stepTokens - step.read);
      const count = Math.max(Math.min(left, LEAST_CHUNK - step.read), step.fitting(request, left, most));
      if (count <= 0) break;
      step.prefill(request, count);
      // the end of the prompt gives the first token
      if (!isDecode(request)) continue;
      request.tokens--;
      firsts.push(request);
    }
    const alone = step.ms;
    const cap = Math.min(alone * (1 + rules.tax), Math.max(alone, rules.itlMs));
    for (const stream of streams) advance(stream);
    addDecodes(step, rules.sequences - online.length, cap);
    removeEnded(online);
    onlineMs += alone;
    for (const { since } of firsts) ttfts.push(now + step.ms - since);
    return step.ms;
  };
  const batchStep = () => {
    const step = new Step(costs.batch, rules);
    const whole = new Step(costs.batch, rules);
    for (const running of batch) whole.decode(running);
    const another = whole.msWithDecode({ ...fresh(), at: reading.prompt }) <= rules.batchStepMs;
    if (batch.length > 0 && (!another || batch.length >= rules.sequences)) {
      // a single decode is a step, however long
      const alone = step.msWithDecode(batch[0]!);
      addDecodes(step, rules.sequences, Math.max(alone, rules.batchStepMs));
      return step.ms;
    }
    for (let full = false; !full; ) {
      const left = Math.min(reading.prompt - reading.at, rules.stepTokens - step.read);
      const count = Math.max(step.read > 0 ? 0 : 1, step.fitting(reading, left, rules.batchStepMs));
      full = count < left || step.read + count >= rules.stepTokens;
      step.prefill(reading, count);
      if (!isDecode(reading)) continue;
      batchTokens++;
      if (reading.tokens > 1) batch.push({ ...reading, tokens: reading.tokens - 1 });
      reading = fresh();
    }
    return step.ms;
  };

  const unanswered = () => online.length > 0 || next < arrivals.length;
  while (now < end || (line === null && unanswered())) {
    for (; next < arrivals.length && arrivals[next]!.atMs <= now && online.length < rules.sequences; next++) {
      const { atMs, prompt, tokens } = arrivals[next]!;
      online.push({ since: atMs, at: 0, prompt, tokens });
    }
    if (line === null && online.length === 0) now = Math.max(now, arrivals[next]?.atMs ?? end);
    // a fit of noise may give a step no cost; time advances all the same
    else now += Math.max(LEAST_STEP_MS, online.length > 0 ? onlineStep() : batchStep());
  }
  return { batchTokens, onlineShare: onlineMs / now, ttfts };
}

function advance(running: Running): void {
  running.at++;
  running.tokens--;
}

function removeEnded(all: Running[]): void {
  for (let i = all.length - 1; i >= 0; i--) {
    const { at, prompt, tokens } = all[i]!;
    if (at >= prompt && tokens <= 0) all.splice(i, 1);
  }
}
