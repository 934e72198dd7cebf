import type { Objectives } from "../../protocol/step.ts";
import { PROMPT_SHARE } from "./step-caps.ts";
import type { StepCosts } from "./step-model.ts";

/** The objectives in the options; "auto" derives them from the cost of steps. */
export interface AskedObjectives {
  ttftMs: number | "auto";
  itlMs: number | "auto";
}

/** The usual load: concurrent streams, and the positions of each where the context allows that many. */
const USUAL_STREAMS = 8;
export const USUAL_CONTEXT = 512;
/** A cycle in multiples of a step of the usual streams: a prompt beside them gets 8/9 of it, and takes 9/8 of its time alone. */
const CYCLE = 9;
/** From this gap on, in milliseconds, readers notice: a prompt then gets less of each cycle, down to three quarters. */
const FELT_ITL_MS = 200;
const LEAST_CYCLE = 4;
/** Readers do not notice shorter gaps, in milliseconds. */
const LEAST_ITL_MS = 50;
/** A cycle is at least this multiple of the step of the streams that run: it has room for the prompts' share. */
const STREAMS_ROOM = 1 / (1 - PROMPT_SHARE);
/** Tokens of the prompt whose first token should meet the objective beside the usual streams. */
const USUAL_PROMPT = 512;
const LEAST_TTFT_MS = 500;
const MOST_MS = 60_000;
/** A new value replaces the old one when their ratio is at least this, or its reciprocal: small changes of a fit change nothing. */
const HYSTERESIS = 1.25;
/** Steps of streams between two reviews of the cost of steps. */
const REVIEW_EVERY = 512;

/**
 * The current objectives of online work. Where the options leave them open they follow the machine: the gap between two
 * tokens has room for a chunk of a prompt that kernels compute efficiently, and is never so short that the streams of the last
 * minutes miss it by themselves. The objectives rise at once when streams need it, and fall only at a review. Pure; without a
 * clock.
 */
export class ObjectiveWatch {
  readonly #asked: AskedObjectives;
  readonly #usual: { sequences: number; context: number };
  readonly #current: Objectives = { ttftMs: LEAST_TTFT_MS, itlMs: LEAST_ITL_MS };
  /** The longest step of streams since the last review, and between the two reviews before. */
  #longest = 0;
  #before = 0;
  #steps = 0;

  /** @param limits most concurrent sequences, and the longest sequence in tokens */
  constructor(asked: AskedObjectives, limits: { sequences: number; context: number }) {
    this.#asked = asked;
    this.#usual = {
      sequences: Math.min(USUAL_STREAMS, limits.sequences),
      context: Math.min(USUAL_CONTEXT, limits.context >> 1),
    };
  }

  get ttftMs(): number {
    return this.#asked.ttftMs === "auto" ? this.#current.ttftMs : this.#asked.ttftMs;
  }

  get itlMs(): number {
    return this.#asked.itlMs === "auto" ? this.#current.itlMs : this.#asked.itlMs;
  }

  /** Takes a step whose online work was streams alone. @param streamsMs its predicted time */
  observe(streamsMs: number, costs: StepCosts, known: boolean): void {
    this.#longest = Math.max(this.#longest, streamsMs);
    this.#take({ ...this.#current, itlMs: Math.max(this.#current.itlMs, bounded(STREAMS_ROOM * streamsMs)) });
    if (++this.#steps % REVIEW_EVERY !== 0 || !known) return;
    this.review(costs);
    this.#before = this.#longest;
    this.#longest = 0;
  }

  /** Derives both objectives again. */
  review(costs: StepCosts): void {
    const { sequences, context } = this.#usual;
    const streams = costs.predict({ prefill: 0, decode: sequences, kv: sequences * context, read: 0, passes: 1 });
    const cycle = Math.max(LEAST_ITL_MS, Math.min(CYCLE * streams, Math.max(FELT_ITL_MS, LEAST_CYCLE * streams)));
    const itlMs = bounded(Math.max(cycle, STREAMS_ROOM * Math.max(this.#longest, this.#before)));
    const prompt = { prefill: USUAL_PROMPT, decode: 0, kv: 0, read: USUAL_PROMPT ** 2 / 2, passes: 1 };
    const share = Math.max(PROMPT_SHARE, 1 - streams / itlMs);
    const ttftMs = bounded(Math.max(LEAST_TTFT_MS, costs.predict(prompt) / share + itlMs));
    this.#take({ ttftMs, itlMs });
  }

  #take(derived: Objectives): void {
    for (const name of ["ttftMs", "itlMs"] as const) {
      const ratio = derived[name] / this.#current[name];
      if (ratio >= HYSTERESIS || ratio <= 1 / HYSTERESIS) this.#current[name] = derived[name];
    }
  }
}

/** Whole milliseconds, within the range of the options. */
function bounded(ms: number): number {
  return Math.min(MOST_MS, Math.ceil(ms));
}
