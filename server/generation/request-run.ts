import type { Interruption, Submission } from "../../engine/engine.ts";
import type { SequenceOutput } from "../../engine/protocol/output.ts";
import type { ApiError } from "../../openapi/api-error.ts";
import type { Usage } from "../../openapi/generation/usage.ts";
import type { Clock } from "../../platform/clock.ts";
import type { ReadyModel } from "../admission/ready-model.ts";
import type { RequestMeter } from "../metrics/request-meter.ts";
import type { AnswerEnd, AnswerTimes, Sink } from "./output/sink.ts";
import { PromptRun, type PromptRunOwner } from "./prompt-run.ts";

export const NO_USAGE: Usage = {
  prompt_tokens: 0,
  completion_tokens: 0,
  total_tokens: 0,
  prompt_tokens_details: { cached_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 0 },
};

/** The tokens of a request. */
export interface RunUsage {
  usage: Usage;
  /** True where an upstream has not counted all of them. */
  estimated: boolean;
}

export type RunOutcome =
  | ({ status: "ok" } & AnswerEnd & RunUsage)
  /** With the tokens computed until then; zeros before the prompt was accepted. */
  | ({ status: "cancelled" } & RunUsage)
  | { status: "error"; error: ApiError };

export interface RequestRunParts {
  /** One for each prompt. */
  submissions: readonly Submission[];
  ready: ReadyModel;
  sink: Sink;
  meter: RequestMeter;
  clock: Clock;
  /** On the same clock. */
  arrivedAt: number;
  /** The tokens of the generation before this one that the request needed; null or absent for none. */
  before?: RunUsage | null;
  /** True where the request needs another generation after this one. */
  unfinished?: boolean;
  /** True for a batch line: after the death of an engine process the line dispatcher decides which lines run again. */
  diesWithEngine?: boolean;
  /** Called when its first sequence starts, and with false when a prompt starts over and waits again. */
  runs?: (running: boolean) => void;
  /** Called once, with the tokens of all prompts. */
  counted?: (promptTokens: number) => void;
}

/**
 * One request in flight: a run for each prompt, all to one sink. Outputs that come before every prompt is accepted are held
 * back, so that a prompt that is too long is a 400 even when another prompt of the request has started. If one prompt
 * fails, the whole request does.
 */
export class RequestRun implements PromptRunOwner {
  /** Settles once: the request completed, failed or was cancelled. Never rejects. */
  readonly outcome: Promise<RunOutcome>;
  readonly #parts: RequestRunParts;
  readonly #prompts: PromptRun[];
  readonly #accepted = new Set<PromptRun>();
  #held: { prompt: PromptRun; output: SequenceOutput }[] = [];
  /** True once every prompt is accepted. */
  #open = false;
  #unfinished: number;
  /** On the clock; null before the first step, and before the first token. */
  #startedAt: number | null = null;
  #firstTokenAt: number | null = null;
  #runs = false;
  readonly #watchers: ((running: boolean) => void)[] = [];
  #settle: ((outcome: RunOutcome) => void) | null = null;

  /** Submits at once. */
  constructor(parts: RequestRunParts) {
    const { submissions, ready, meter, clock } = parts;
    this.#parts = parts;
    this.#unfinished = submissions.length;
    this.outcome = new Promise((resolve) => {
      this.#settle = resolve;
    });
    let firstChoice = 0;
    this.#prompts = submissions.map((submission) => {
      const prompt = new PromptRun({ submission, firstChoice, owner: this, ready, meter, clock });
      firstChoice += submission.n;
      return prompt;
    });
  }

  /** Ends the request without an answer; does nothing after its end. */
  cancel(): void {
    for (const prompt of this.#prompts) prompt.cancel();
    this.#end({ status: "cancelled", usage: this.#usage(), estimated: this.#estimated });
  }

  watch(runs: (running: boolean) => void): void {
    this.#watchers.push(runs);
    if (this.#runs) runs(true);
  }

  accepted(prompt: PromptRun): void {
    this.#accepted.add(prompt);
    if (this.#open || this.#accepted.size < this.#prompts.length) return;
    this.#open = true;
    this.#parts.counted?.(this.#usage().prompt_tokens);
    for (const ready of this.#prompts) this.#echo(ready);
    const held = this.#held;
    this.#held = [];
    for (const { prompt: from, output } of held) this.#pass(from, output);
    this.#completeIfDone();
  }

  started(agoMs: number): void {
    const { meter, clock, arrivedAt, sink } = this.#parts;
    const { prompt_tokens: promptTokens, prompt_tokens_details: details } = this.#usage();
    sink.started({ promptTokens, cachedTokens: details.cached_tokens });
    this.#setRunning(true);
    if (this.#startedAt !== null) return;
    this.#startedAt = Math.max(arrivedAt, clock.now() - agoMs);
    if (this.#parts.before == null) meter.queueTime(this.#startedAt - arrivedAt);
  }

  output(prompt: PromptRun, output: SequenceOutput): void {
    if (this.#open) this.#pass(prompt, output);
    else this.#held.push({ prompt, output });
  }

  finished(): void {
    this.#unfinished--;
    this.#completeIfDone();
  }

  failed(error: ApiError): void {
    this.#end({ status: "error", error });
  }

  mayRestart(interruption: Interruption): boolean {
    const { sink, diesWithEngine } = this.#parts;
    return !sink.opened && !(diesWithEngine && interruption === "died");
  }

  restarted(prompt: PromptRun): void {
    this.#held = this.#held.filter((held) => held.prompt !== prompt);
    this.#parts.sink.forget(prompt.firstChoice, prompt.n);
    this.#setRunning(false);
    if (this.#open) this.#echo(prompt);
  }

  /** The first byte of content went to the socket, or, when not streamed, the first token came. Counts once. */
  firstContent(): void {
    if (this.#firstTokenAt !== null) return;
    const { meter, clock, arrivedAt } = this.#parts;
    this.#firstTokenAt = clock.now();
    meter.firstToken(this.#firstTokenAt - arrivedAt);
  }

  #setRunning(running: boolean): void {
    if (this.#runs === running) return;
    this.#runs = running;
    this.#parts.runs?.(running);
    for (const watcher of this.#watchers) watcher(running);
  }

  #echo({ promptText, firstChoice, n }: PromptRun): void {
    if (promptText === null) return;
    for (let choice = firstChoice; choice < firstChoice + n; choice++) this.#parts.sink.prompt(choice, promptText);
  }

  #pass(prompt: PromptRun, output: SequenceOutput): void {
    this.#parts.sink.output(prompt.firstChoice + output.index, output);
  }

  #completeIfDone(): void {
    if (!this.#open || this.#unfinished > 0) return;
    const usage = this.#usage();
    const { meter, clock, arrivedAt, sink, unfinished } = this.#parts;
    if (!unfinished) meter.duration(clock.now() - arrivedAt);
    const end = { usage, times: this.#times() };
    sink.complete(end);
    this.#end({ status: "ok", ...end, estimated: this.#estimated });
  }

  #end(outcome: RunOutcome): void {
    const settle = this.#settle;
    if (settle === null) return;
    this.#settle = null;
    const { meter, sink } = this.#parts;
    for (const prompt of this.#prompts) prompt.cancel();
    for (const prompt of this.#accepted) {
      meter.promptTokens(prompt.promptTokens);
      meter.cachedTokens(prompt.cachedTokens);
    }
    if (outcome.status === "error" && sink.opened) sink.fail(outcome.error);
    settle(outcome);
  }

  #times(): AnswerTimes {
    const { clock, arrivedAt } = this.#parts;
    const now = clock.now();
    const startedAt = this.#startedAt ?? now;
    const firstTokenAt = this.#firstTokenAt ?? now;
    return { queue: startedAt - arrivedAt, prefill: firstTokenAt - startedAt, decode: now - firstTokenAt };
  }

  get #estimated(): boolean {
    return this.#parts.before?.estimated === true || this.#prompts.some(({ estimated }) => estimated);
  }

  #usage(): Usage {
    const sum = (count: (prompt: PromptRun) => number) =>
      this.#prompts.reduce((total, prompt) => total + count(prompt), 0);
    const before = this.#parts.before?.usage ?? NO_USAGE;
    const prompt_tokens = before.prompt_tokens + sum((prompt) => prompt.promptTokens);
    const completion_tokens = before.completion_tokens + sum((prompt) => prompt.completionTokens);
    const cached_tokens = before.prompt_tokens_details.cached_tokens + sum((prompt) => prompt.cachedTokens);
    const { reasoning_tokens: thought } = before.completion_tokens_details;
    return {
      prompt_tokens,
      completion_tokens,
      total_tokens: prompt_tokens + completion_tokens,
      prompt_tokens_details: { cached_tokens },
      completion_tokens_details: { reasoning_tokens: thought + sum((prompt) => prompt.reasoningTokens) },
    };
  }
}
