import type { Submission } from "../../engine/engine.ts";
import type { SequenceOutput } from "../../engine/protocol/output.ts";
import type { ApiError } from "../../openapi/api-error.ts";
import type { Usage } from "../../openapi/generation/usage.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Place } from "../admission/admission.ts";
import type { RequestMeter } from "../metrics/request-meter.ts";
import type { Sink } from "./output/sink.ts";
import { PromptRun, type PromptRunOwner } from "./prompt-run.ts";

export type RunOutcome =
  | { status: "ok"; usage: Usage }
  /** What was computed until then; zeros before the prompt was accepted. */
  | { status: "cancelled"; usage: Usage }
  | { status: "error"; error: ApiError };

/**
 * One API call in flight: one generation per prompt, all to one sink. Outputs that come before every prompt is accepted
 * are held back, so that a prompt that is too long is a 400 even when its neighbour has begun. If one generation fails,
 * the whole call does.
 */
export class RequestRun implements PromptRunOwner {
  /** Settles once: the call finished, failed or was cancelled. Never rejects. */
  readonly outcome: Promise<RunOutcome>;
  /** Resolves when the first sequence starts, and never for a call that ends before; `outcome` does not overtake it. */
  readonly running: Promise<void>;

  readonly #sink: Sink;
  readonly #meter: RequestMeter;
  readonly #clock: Clock;
  readonly #arrivedAt: number;
  readonly #counted: (promptTokens: number) => void;
  readonly #generations: PromptRun[];
  readonly #accepted = new Set<PromptRun>();
  #held: { generation: PromptRun; output: SequenceOutput }[] = [];
  #open = false;
  #unfinished: number;
  #queued = true;
  #firstToken = true;
  #settle: ((outcome: RunOutcome) => void) | null = null;
  #run: () => void = () => {};

  /** Submits at once. `arrivedAt` is on the same clock; `counted` hears once how many tokens all prompts have. */
  constructor(
    submissions: readonly Submission[],
    place: Place,
    sink: Sink,
    meter: RequestMeter,
    clock: Clock,
    arrivedAt: number,
    counted: (promptTokens: number) => void = () => {},
  ) {
    this.#sink = sink;
    this.#meter = meter;
    this.#clock = clock;
    this.#arrivedAt = arrivedAt;
    this.#counted = counted;
    this.#unfinished = submissions.length;
    this.outcome = new Promise((resolve) => {
      this.#settle = resolve;
    });
    this.running = new Promise((resolve) => {
      this.#run = resolve;
    });
    let firstChoice = 0;
    this.#generations = submissions.map((submission) => {
      const generation = new PromptRun(submission, firstChoice, this, place, meter, clock);
      firstChoice += submission.n;
      return generation;
    });
  }

  /** Ends the call without an answer; harmless when it has ended. */
  cancel(): void {
    for (const generation of this.#generations) generation.cancel();
    this.#end({ status: "cancelled", usage: this.#usage() });
  }

  accepted(generation: PromptRun): void {
    this.#accepted.add(generation);
    if (this.#open || this.#accepted.size < this.#generations.length) return;
    this.#open = true;
    this.#counted(this.#usage().prompt_tokens);
    for (const ready of this.#generations) this.#echo(ready);
    const held = this.#held;
    this.#held = [];
    for (const { generation: from, output } of held) this.#pass(from, output);
    this.#completeIfDone();
  }

  started(agoMs: number): void {
    if (!this.#queued) return;
    this.#queued = false;
    this.#run();
    this.#meter.queueTime(Math.max(0, this.#clock.now() - agoMs - this.#arrivedAt));
  }

  output(generation: PromptRun, output: SequenceOutput): void {
    if (this.#open) this.#pass(generation, output);
    else this.#held.push({ generation, output });
  }

  finished(): void {
    this.#unfinished--;
    this.#completeIfDone();
  }

  failed(error: ApiError): void {
    this.#end({ status: "error", error });
  }

  unseen(): boolean {
    return !this.#sink.opened;
  }

  restarted(generation: PromptRun): void {
    this.#held = this.#held.filter((held) => held.generation !== generation);
    this.#sink.forget(generation.firstChoice, generation.n);
    if (this.#open) this.#echo(generation);
  }

  /** The first byte of content went to the socket, or, when not streamed, the first token came. Counts once. */
  firstContent(): void {
    if (!this.#firstToken) return;
    this.#firstToken = false;
    this.#meter.firstToken(this.#clock.now() - this.#arrivedAt);
  }

  #echo({ promptText, firstChoice, n }: PromptRun): void {
    if (promptText === null) return;
    for (let choice = firstChoice; choice < firstChoice + n; choice++) this.#sink.prompt(choice, promptText);
  }

  #pass(generation: PromptRun, output: SequenceOutput): void {
    this.#sink.output(generation.firstChoice + output.index, output);
  }

  #completeIfDone(): void {
    if (!this.#open || this.#unfinished > 0) return;
    const usage = this.#usage();
    this.#meter.duration(this.#clock.now() - this.#arrivedAt);
    this.#sink.complete(usage);
    this.#end({ status: "ok", usage });
  }

  #end(outcome: RunOutcome): void {
    const settle = this.#settle;
    if (settle === null) return;
    this.#settle = null;
    for (const generation of this.#generations) generation.cancel();
    for (const generation of this.#accepted) {
      this.#meter.promptTokens(generation.promptTokens);
      this.#meter.cachedTokens(generation.cachedTokens);
    }
    if (outcome.status === "error" && this.#sink.opened) this.#sink.fail(outcome.error);
    settle(outcome);
  }

  #usage(): Usage {
    const sum = (count: (generation: PromptRun) => number) =>
      this.#generations.reduce((total, generation) => total + count(generation), 0);
    const prompt_tokens = sum((generation) => generation.promptTokens);
    const completion_tokens = sum((generation) => generation.completionTokens);
    return {
      prompt_tokens,
      completion_tokens,
      total_tokens: prompt_tokens + completion_tokens,
      prompt_tokens_details: { cached_tokens: sum((generation) => generation.cachedTokens) },
      completion_tokens_details: { reasoning_tokens: sum((generation) => generation.reasoningTokens) },
    };
  }
}
