import type { EmbeddingListener, EmbeddingSubmission, Ticket } from "../../engine/engine.ts";
import type { ApiError } from "../../openapi/api-error.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Place } from "../admission/admission.ts";
import type { Burden } from "../admission/model-load.ts";
import type { RequestMeter } from "../metrics/request-meter.ts";

export type EmbeddingOutcome =
  | { status: "ok"; vectors: readonly Float32Array[]; promptTokens: number }
  /** The tokens, if anything was computed for it by then. */
  | { status: "cancelled"; promptTokens: number }
  | { status: "error"; error: ApiError };

export interface EmbeddingRunParts {
  submission: EmbeddingSubmission;
  place: Place;
  meter: RequestMeter;
  clock: Clock;
  /** On the same clock. */
  arrivedAt: number;
  /** Whether it runs once more when the engine dies: nobody sees a part of its answer. */
  mayRestart: boolean;
  /** Hears how many tokens the inputs have. */
  counted?: (promptTokens: number) => void;
}

/** One call for vectors in flight: waiting → running → ended. */
export class EmbeddingRun implements EmbeddingListener {
  /** Settles once; never rejects. */
  readonly outcome: Promise<EmbeddingOutcome>;
  /** Resolves when its first input begins, and never for a call that ends before. */
  readonly running: Promise<void>;
  readonly #parts: EmbeddingRunParts;
  readonly #vectors: Float32Array[];
  readonly #ticket: Ticket;
  readonly #burden: Burden;
  #phase: "waiting" | "running" | "ended" = "waiting";
  #missing: number;
  #promptTokens = 0;
  #settle: (outcome: EmbeddingOutcome) => void = () => {};
  #run: () => void = () => {};

  constructor(parts: EmbeddingRunParts) {
    const { submission, place } = parts;
    this.#parts = parts;
    this.#missing = submission.inputs.length;
    this.#vectors = new Array<Float32Array>(submission.inputs.length);
    this.outcome = new Promise((resolve) => {
      this.#settle = resolve;
    });
    this.running = new Promise((resolve) => {
      this.#run = resolve;
    });
    // It takes no sequence from those who generate.
    this.#burden = { tier: submission.tier, owner: submission.owner, sequences: 0 };
    place.load.arrive(this.#burden);
    this.#ticket = place.model.engine.embed(submission, this);
  }

  accepted(promptTokens: number): void {
    if (this.#phase === "ended") return;
    this.#load(promptTokens - this.#promptTokens);
    this.#promptTokens = promptTokens;
    this.#parts.counted?.(promptTokens);
  }

  started(): void {
    if (this.#phase !== "waiting") return;
    this.#phase = "running";
    const { place, meter, clock, arrivedAt } = this.#parts;
    place.load.start(this.#burden);
    meter.queueTime(clock.now() - arrivedAt);
    this.#run();
  }

  vector(index: number, vector: Float32Array): void {
    if (this.#phase === "ended") return;
    this.#vectors[index] = vector;
    if (--this.#missing > 0) return;
    const { meter, clock, arrivedAt } = this.#parts;
    meter.duration(clock.now() - arrivedAt);
    this.#end({ status: "ok", vectors: this.#vectors, promptTokens: this.#promptTokens });
  }

  failed(error: ApiError): void {
    if (this.#phase !== "ended") this.#ticket.cancel();
    this.#end({ status: "error", error });
  }

  mayRestart(): boolean {
    if (this.#phase === "ended" || !this.#parts.mayRestart) return false;
    if (this.#phase === "running") this.#parts.place.load.startOver(this.#burden);
    this.#phase = "waiting";
    this.#missing = this.#vectors.length;
    return true;
  }

  /** Ends the call without an answer; harmless when it has ended. */
  cancel(): void {
    if (this.#phase === "ended") return;
    this.#ticket.cancel();
    this.#end({ status: "cancelled", promptTokens: this.#phase === "running" ? this.#promptTokens : 0 });
  }

  #end(outcome: EmbeddingOutcome): void {
    if (this.#phase === "ended") return;
    const { place, meter } = this.#parts;
    place.load.leave(this.#phase, this.#burden);
    this.#load(-this.#promptTokens);
    this.#phase = "ended";
    meter.promptTokens(this.#promptTokens);
    this.#settle(outcome);
  }

  #load(tokens: number): void {
    const { place, submission } = this.#parts;
    place.load.embedding.add(submission.tier, submission.owner, tokens);
  }
}
