import type { Objectives } from "../../protocol/step.ts";
import type { StepCosts } from "./step-model.ts";

/** What the options say; auto is derived from what steps cost. */
export interface AskedObjectives {
  ttftMs: number | "auto";
  itlMs: number | "auto";
}

/** The usual load: sequences, and the positions of each where the context allows so many. */
const CROWD = 8;
const USUAL_CONTEXT = 512;
/** A prompt beside the usual crowd gets eight ninths of each cycle, and takes 9/8 of what it takes alone. */
const CYCLE = 9;
/** From a fifth of a second on a gap is felt: there a prompt gets less, down to three quarters. */
const FELT_ITL_MS = 200;
const LEAST_CYCLE = 4;
/** Shorter gaps look the same to whoever reads. */
const LEAST_ITL_MS = 50;
/** A cycle of the streams that there are is at least so many times as long as their step alone. */
const STREAMS_ROOM = 2;
/** The prompt whose first token should come in time, beside the usual crowd. */
const USUAL_PROMPT = 512;
const LEAST_TTFT_MS = 500;
const MOST_MS = 60_000;
/** A new value is taken when it is so many times the old one, or the reciprocal: a fit that wavers moves nothing. */
const HYSTERESIS = 1.25;
/** Steps of streams between two looks at what steps cost now. */
const REVIEW_EVERY = 512;

/**
 * The objectives of online work that hold now. Where the options leave them open they follow the machine: the gap between
 * two tokens leaves room for a chunk of a prompt that a kernel is good at, and is never so short that the streams of the
 * last minutes miss it by themselves. They rise at once when streams need it, and fall only from one look to the next.
 * Pure; knows no clock.
 */
export class ObjectiveWatch {
  readonly #asked: AskedObjectives;
  readonly #crowd: { sequences: number; context: number };
  readonly #current: Objectives = { ttftMs: LEAST_TTFT_MS, itlMs: LEAST_ITL_MS };
  /** The longest step of streams since the last look, and between the two before. */
  #longest = 0;
  #before = 0;
  #steps = 0;

  /** @param house most sequences at once, and the longest of them in tokens */
  constructor(asked: AskedObjectives, house: { sequences: number; context: number }) {
    this.#asked = asked;
    this.#crowd = { sequences: Math.min(CROWD, house.sequences), context: Math.min(USUAL_CONTEXT, house.context >> 1) };
  }

  get ttftMs(): number {
    return this.#asked.ttftMs === "auto" ? this.#current.ttftMs : this.#asked.ttftMs;
  }

  get itlMs(): number {
    return this.#asked.itlMs === "auto" ? this.#current.itlMs : this.#asked.itlMs;
  }

  /** After a step of streams and nothing else of online work. @param streamsMs what it was predicted to take */
  observe(streamsMs: number, costs: StepCosts, known: boolean): void {
    this.#longest = Math.max(this.#longest, streamsMs);
    this.#take({ ...this.#current, itlMs: Math.max(this.#current.itlMs, bounded(STREAMS_ROOM * streamsMs)) });
    if (++this.#steps % REVIEW_EVERY !== 0 || !known) return;
    this.review(costs);
    this.#before = this.#longest;
    this.#longest = 0;
  }

  /** Derives both anew. */
  review(costs: StepCosts): void {
    const { sequences, context } = this.#crowd;
    const streams = costs.predict({ prefill: 0, decode: sequences, kv: sequences * context, read: 0, passes: 1 });
    const cycle = Math.max(LEAST_ITL_MS, Math.min(CYCLE * streams, Math.max(FELT_ITL_MS, LEAST_CYCLE * streams)));
    const itlMs = bounded(Math.max(cycle, STREAMS_ROOM * Math.max(this.#longest, this.#before)));
    const prompt = { prefill: USUAL_PROMPT, decode: 0, kv: 0, read: USUAL_PROMPT ** 2 / 2, passes: 1 };
    const share = Math.max(1 / 2, 1 - streams / itlMs);
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

/** Whole milliseconds that an option could have. */
function bounded(ms: number): number {
  return Math.min(MOST_MS, Math.ceil(ms));
}
