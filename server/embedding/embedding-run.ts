import type { EmbeddingListener, EmbeddingSubmission, Interruption, Ticket } from "../../engine/engine.ts";
import type { ApiError } from "../../openapi/api-error.ts";
import type { Clock } from "../../platform/clock.ts";
import type { LoadEntry } from "../admission/model-load.ts";
import type { ReadyModel } from "../admission/ready-model.ts";
import type { RequestMeter } from "../metrics/request-meter.ts";

interface CountedInputs {
  promptTokens: number;
  /** True where an upstream has not counted them. */
  estimated: boolean;
}

export type EmbeddingOutcome =
  | ({ status: "ok"; vectors: readonly Float32Array[] } & CountedInputs)
  /** The tokens, once an input has started; else 0. */
  | ({ status: "cancelled" } & CountedInputs)
  | { status: "error"; error: ApiError };

export interface EmbeddingRunParts {
  submission: EmbeddingSubmission;
  ready: ReadyModel;
  meter: RequestMeter;
  clock: Clock;
  /** On the same clock. */
  arrivedAt: number;
  /** True for a batch line: after the death of an engine process the line dispatcher decides which lines run again. */
  diesWithEngine?: boolean;
  /** Called when its first input starts, and with false when it starts over and waits again. */
  runs?: (running: boolean) => void;
  /** Called with the tokens of all inputs. */
  counted?: (promptTokens: number) => void;
}

/** One request for vectors in flight: waiting → running → ended. */
export class EmbeddingRun implements EmbeddingListener {
  /** Settles once; never rejects. */
  readonly outcome: Promise<EmbeddingOutcome>;
  readonly #parts: EmbeddingRunParts;
  readonly #vectors: Float32Array[];
  readonly #ticket: Ticket;
  readonly #entry: LoadEntry;
  #phase: "waiting" | "running" | "ended" = "waiting";
  #missing: number;
  #promptTokens = 0;
  #estimated = false;
  #settle: (outcome: EmbeddingOutcome) => void = () => {};
  readonly #watchers: ((running: boolean) => void)[] = [];

  constructor(parts: EmbeddingRunParts) {
    const { submission, ready } = parts;
    this.#parts = parts;
    this.#missing = submission.inputs.length;
    this.#vectors = new Array<Float32Array>(submission.inputs.length);
    this.outcome = new Promise((resolve) => {
      this.#settle = resolve;
    });
    // Embeddings occupy no sequence.
    this.#entry = { tier: submission.tier, owner: submission.owner, sequences: 0 };
    ready.load.arrive(this.#entry);
    this.#ticket = ready.model.engine.embed(submission, this);
  }

  watch(runs: (running: boolean) => void): void {
    this.#watchers.push(runs);
    if (this.#phase === "running") runs(true);
  }

  accepted(promptTokens: number, _promptText: string | null, estimated = false): void {
    if (this.#phase === "ended") return;
    this.#estimated = estimated;
    this.#load(promptTokens - this.#promptTokens);
    this.#promptTokens = promptTokens;
    this.#parts.counted?.(promptTokens);
  }

  started(): void {
    if (this.#phase !== "waiting") return;
    this.#phase = "running";
    const { ready, meter, clock, arrivedAt } = this.#parts;
    ready.load.start(this.#entry);
    meter.queueTime(clock.now() - arrivedAt);
    this.#setRunning(true);
  }

  vector(index: number, vector: Float32Array): void {
    if (this.#phase === "ended") return;
    this.#vectors[index] = vector;
    if (--this.#missing > 0) return;
    const { meter, clock, arrivedAt } = this.#parts;
    meter.duration(clock.now() - arrivedAt);
    const [promptTokens, estimated] = [this.#promptTokens, this.#estimated];
    this.#end({ status: "ok", vectors: this.#vectors, promptTokens, estimated });
  }

  failed(error: ApiError): void {
    if (this.#phase !== "ended") this.#ticket.cancel();
    this.#end({ status: "error", error });
  }

  /** No part of its answer was sent before its end. */
  mayRestart(interruption: Interruption): boolean {
    const { diesWithEngine, ready } = this.#parts;
    if (this.#phase === "ended" || (diesWithEngine && interruption === "died")) return false;
    if (this.#phase === "running") {
      ready.load.restart(this.#entry);
      this.#setRunning(false);
    }
    this.#phase = "waiting";
    this.#missing = this.#vectors.length;
    return true;
  }

  /** Ends the request without an answer; does nothing after its end. */
  cancel(): void {
    if (this.#phase === "ended") return;
    this.#ticket.cancel();
    const promptTokens = this.#phase === "running" ? this.#promptTokens : 0;
    this.#end({ status: "cancelled", promptTokens, estimated: this.#estimated });
  }

  #end(outcome: EmbeddingOutcome): void {
    if (this.#phase === "ended") return;
    const { ready, meter } = this.#parts;
    ready.load.leave(this.#phase, this.#entry);
    this.#load(-this.#promptTokens);
    this.#phase = "ended";
    meter.promptTokens(this.#promptTokens);
    this.#settle(outcome);
  }

  #setRunning(running: boolean): void {
    this.#parts.runs?.(running);
    for (const watcher of this.#watchers) watcher(running);
  }

  #load(tokens: number): void {
    const { ready, submission } = this.#parts;
    ready.load.embedding.add(submission.tier, submission.owner, tokens);
  }
}
