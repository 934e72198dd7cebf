import type { StepCosts } from "./step-costs.ts";
import type { Arrival } from "./traffic.ts";

export interface OracleRules {
  /** Sequences at once. */
  sequences: number;
  /** Most prompt tokens of a step. */
  stepTokens: number;
  /** How much longer batch work may make a step that has online work, as a share. */
  tax: number;
  /** Most milliseconds of a step with batch work alone. */
  batchStepMs: number;
  /** Objective between two tokens of an online stream: it bounds the chunk of a prompt beside streams. */
  itlMs: number;
  /** Whether decodes and a chunk are two passes over the weights, as in a split cache. */
  twoPasses: boolean;
}

/** Of every batch line; there is no end of them. */
export interface LineShape {
  prompt: number;
  tokens: number;
}

export interface OracleResult {
  /** Batch tokens generated within the time. */
  batchTokens: number;
  /** Share of the time that online work alone would have taken. */
  onlineShare: number;
  /** Times to the first token in milliseconds, in the order in which these came. */
  ttfts: number[];
}

/**
 * What steps cost, for the two kinds of steps that there are: many small ones with online work, and few full ones without.
 * A line through the costs of the ones is off for the others.
 */
export interface OracleCosts {
  online: StepCosts;
  batch: StepCosts;
}

interface Running {
  /** When it arrived, in milliseconds; 0 for lines. */
  since: number;
  /** Tokens of it that are computed. */
  at: number;
  prompt: number;
  /** Of its answer, those still to come. */
  tokens: number;
}

/** A chunk that is worth a step although streams miss their objective. */
const LEAST_CHUNK = 16;
const LEAST_STEP_MS = 0.01;
const NO_LINE: LineShape = { prompt: 0, tokens: 0 };

/** What a step has in it so far, and what that costs. */
class Step {
  readonly #costs: StepCosts;
  readonly #pass: number;
  #decodes = 0;
  #read = 0;
  #kv = 0;
  /** The same of prompts. */
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

/** Cells that `count` tokens after `at` others look at, summed over them. */
function attended(at: number, count: number): number {
  return count * at + (count * (count + 1)) / 2;
}

/**
 * What a scheduler gets done that knows the cost of every step exactly, takes no time of its own between two of them,
 * parks and resumes for nothing and never runs out of lines, under the same bounds: with online work a step is at most
 * `tax` longer than without batch work and never past `itlMs`, without any it takes at most `batchStepMs`. Online work
 * runs as it would alone. Steps are simulated one by one: in one with online work batch decodes ride as far as they
 * fit; one without reads batch prompts until as many lines decode as fit into a step, then decodes them.
 *
 * @param line null for online work alone, which is then brought to its end
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

  const decodes = (running: Running) => running.at >= running.prompt;
  /** The first lines go on first, so that some end soon. */
  const ride = (step: Step, most: number, ms: number) => {
    const riders: Running[] = [];
    for (const running of batch) {
      if (riders.length >= most || step.msWithDecode(running) > ms) break;
      step.decode(running);
      riders.push(running);
    }
    for (const running of riders) advance(running);
    batchTokens += riders.length;
    removeEnded(batch);
  };
  const onlineStep = () => {
    const step = new Step(costs.online, rules);
    const streams = online.filter(decodes);
    for (const stream of streams) step.decode(stream);
    const most = streams.length > 0 ? rules.itlMs : Number.POSITIVE_INFINITY;
    const firsts: Running[] = [];
    for (const request of online) {
      if (decodes(request)) continue;
      const left = Math.min(request.prompt - request.at, rules.stepTokens - step.read);
      const count = Math.max(Math.min(left, LEAST_CHUNK - step.read), step.fitting(request, left, most));
      if (count <= 0) break;
      step.prefill(request, count);
      // the end of the prompt brings the first token
      if (!decodes(request)) continue;
      request.tokens--;
      firsts.push(request);
    }
    const alone = step.ms;
    const cap = Math.min(alone * (1 + rules.tax), Math.max(alone, rules.itlMs));
    for (const stream of streams) advance(stream);
    ride(step, rules.sequences - online.length, cap);
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
      // one decode is a step, however long
      const alone = step.msWithDecode(batch[0]!);
      ride(step, rules.sequences, Math.max(alone, rules.batchStepMs));
      return step.ms;
    }
    for (let full = false; !full; ) {
      const left = Math.min(reading.prompt - reading.at, rules.stepTokens - step.read);
      const count = Math.max(step.read > 0 ? 0 : 1, step.fitting(reading, left, rules.batchStepMs));
      full = count < left || step.read + count >= rules.stepTokens;
      step.prefill(reading, count);
      if (!decodes(reading)) continue;
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
    // a fit of noise may say that a step costs nothing; time goes on all the same
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
