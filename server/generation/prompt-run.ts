import type { Interruption, RequestListener, Submission, Ticket } from "../../engine/engine.ts";
import type { SequenceOutput } from "../../engine/protocol/output.ts";
import type { ApiError } from "../../openapi/api-error.ts";
import type { Clock } from "../../platform/clock.ts";
import type { LoadEntry } from "../admission/model-load.ts";
import type { ReadyModel } from "../admission/ready-model.ts";
import type { RequestMeter } from "../metrics/request-meter.ts";

/** Events of a prompt, for the request that it belongs to. */
export interface PromptRunOwner {
  accepted(prompt: PromptRun): void;
  /** @param agoMs milliseconds since its first step began */
  started(agoMs: number): void;
  output(prompt: PromptRun, output: SequenceOutput): void;
  /** Every sequence has its finish. */
  finished(prompt: PromptRun): void;
  failed(error: ApiError): void;
  /** True while the whole request may run again: the client has received nothing of it. */
  mayRestart(interruption: Interruption): boolean;
  /** The prompt starts over; its outputs so far are void. */
  restarted(prompt: PromptRun): void;
}

interface SequenceClock {
  firstAt: number;
  lastAt: number;
}

export interface PromptRunParts {
  submission: Submission;
  firstChoice: number;
  owner: PromptRunOwner;
  ready: ReadyModel;
  meter: RequestMeter;
  clock: Clock;
}

/**
 * One prompt in the engine: n sequences, their counts and times, and its entry in the model's load.
 * waiting → running → ended; the death of an engine process, or a preemption, leads back to waiting while the client has received nothing.
 */
export class PromptRun implements RequestListener {
  /** Index in the request of this prompt's first choice. */
  readonly firstChoice: number;
  readonly n: number;
  promptTokens = 0;
  promptText: string | null = null;
  /** Of the sequence with the fewest: the others share the tokens that it computed. */
  cachedTokens = 0;
  completionTokens = 0;
  reasoningTokens = 0;
  /** True while the tokens are estimates: of an upstream that has not counted them. */
  estimated = false;

  /** Tokens of unfinished sequences, which a client that disconnects has used. */
  #unfinishedTokens: number[] = [];
  readonly #owner: PromptRunOwner;
  readonly #ready: ReadyModel;
  readonly #meter: RequestMeter;
  readonly #clock: Clock;
  readonly #entry: LoadEntry;
  #phase: "waiting" | "running" | "ended" = "waiting";
  #startedSequences = 0;
  #unfinished: number;
  #sequences: (SequenceClock | undefined)[] = [];
  readonly #ticket: Ticket;

  constructor({ submission, firstChoice, owner, ready, meter, clock }: PromptRunParts) {
    this.firstChoice = firstChoice;
    this.n = submission.n;
    this.#unfinished = submission.n;
    this.#owner = owner;
    this.#ready = ready;
    this.#meter = meter;
    this.#clock = clock;
    this.#entry = { tier: submission.tier, owner: submission.owner, sequences: this.n };
    ready.load.arrive(this.#entry);
    this.#ticket = ready.model.engine.submit(submission, this);
  }

  accepted(promptTokens: number, promptText: string | null, estimated = false): void {
    if (this.#phase === "ended") return;
    this.promptTokens = promptTokens;
    this.estimated = estimated;
    this.promptText = promptText;
    this.#owner.accepted(this);
  }

  started(_index: number, cachedTokens: number, agoMs: number): void {
    if (this.#phase === "ended") return;
    this.cachedTokens = this.#startedSequences++ === 0 ? cachedTokens : Math.min(this.cachedTokens, cachedTokens);
    if (this.#phase !== "waiting") return;
    this.#phase = "running";
    this.#ready.load.start(this.#entry);
    this.#owner.started(agoMs);
  }

  output(output: SequenceOutput): void {
    if (this.#phase === "ended") return;
    if (output.tokens > 0) this.#measure(output);
    this.#unfinishedTokens[output.index] = (this.#unfinishedTokens[output.index] ?? 0) + output.tokens;
    this.#owner.output(this, output);
    if (output.finish === null) return;
    this.#unfinishedTokens[output.index] = 0;
    if (output.finish.prompt !== undefined) {
      this.promptTokens = output.finish.prompt.tokens;
      this.cachedTokens = output.finish.prompt.cachedTokens;
    }
    this.completionTokens += output.finish.completionTokens;
    this.reasoningTokens += output.finish.reasoningTokens;
    if (--this.#unfinished > 0) return;
    if (output.finish.prompt !== undefined) this.estimated = output.finish.prompt.estimated;
    this.#ready.load.learn(this.promptTokens - this.cachedTokens, this.completionTokens / this.n);
    this.#leave();
    this.#owner.finished(this);
  }

  failed(error: ApiError): void {
    if (this.#phase === "ended") return;
    this.#leave();
    this.#owner.failed(error);
  }

  mayRestart(interruption: Interruption): boolean {
    if (this.#phase === "ended" || !this.#owner.mayRestart(interruption)) return false;
    if (this.#phase === "running") {
      this.#ready.load.restart(this.#entry);
      this.#phase = "waiting";
    }
    this.#unfinished = this.n;
    this.#startedSequences = 0;
    this.#sequences = [];
    this.#unfinishedTokens = [];
    this.completionTokens = 0;
    this.reasoningTokens = 0;
    this.#owner.restarted(this);
    return true;
  }

  cancel(): void {
    if (this.#phase === "ended") return;
    this.completionTokens += this.#unfinishedTokens.reduce((sum, tokens) => sum + tokens, 0);
    this.#leave();
    this.#ticket.cancel();
  }

  #leave(): void {
    if (this.#phase === "ended") return;
    this.#ready.load.leave(this.#phase, this.#entry);
    this.#phase = "ended";
  }

  #measure(output: SequenceOutput): void {
    const now = this.#clock.now();
    this.#meter.generationTokens(output.tokens);
    let sequence = this.#sequences[output.index];
    if (sequence === undefined) {
      sequence = { firstAt: now, lastAt: now };
      this.#sequences[output.index] = sequence;
    } else {
      this.#meter.interToken(now - sequence.lastAt, output.tokens);
      sequence.lastAt = now;
    }
    const total = output.finish?.completionTokens ?? 0;
    if (total > 1) this.#meter.perOutputToken((now - sequence.firstAt) / (total - 1));
  }
}
