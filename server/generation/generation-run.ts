import { ApiError } from "../../openapi/api-error.ts";
import type { GenerationPath } from "../../openapi/inference-path.ts";
import type { Clock } from "../../platform/clock.ts";
import { epochSeconds } from "../../platform/clock.ts";
import type { Log } from "../../platform/log.ts";
import type { ReadyModel } from "../admission/ready-model.ts";
import { generationEstimate, type UsageEstimate } from "../admission/usage-estimate.ts";
import type { Grammars } from "../grammar/grammar-compiler.ts";
import { enforceForm } from "../grammar/tool-grammar.ts";
import { stampProcessingTime } from "../http/context/request-context.ts";
import { EventStream } from "../http/event-stream.ts";
import { sendValue } from "../http/respond.ts";
import { fromStore } from "../http/store-error-response.ts";
import type { InferenceRun, Outcome, QueueDemand, RunContext } from "../inference/endpoint.ts";
import type { Exchange } from "../inference/exchange.ts";
import type { AppOptions } from "../options/app-options.ts";
import { BodySink, type WholeChoice } from "./output/body-sink.ts";
import { KeepingSink } from "./output/keeping-sink.ts";
import type { AnswerEnd, Sink } from "./output/sink.ts";
import { type AnswerIdentity, KEEP_ALIVE } from "./output/stream-format.ts";
import { StreamSink } from "./output/stream-sink.ts";
import type { Compaction, GenerationRequest } from "./request.ts";
import { NO_USAGE, RequestRun, type RunOutcome, type RunUsage } from "./request-run.ts";
import { withinContext } from "./truncation.ts";

export interface GenerationRunDeps {
  grammars: Grammars;
  options: Pick<AppOptions, "streamBuffer" | "stallMs" | "silenceMs">;
  log: Log;
  clock: Clock;
  /** 16 or more unguessable characters of [A-Za-z0-9], new on every call. */
  randomId: () => string;
}

/** A request on its model; `compaction` is null for a prompt that stays as it is. */
export interface RequestOnModel {
  request: GenerationRequest;
  compaction: Compaction | null;
  ready: ReadyModel;
}

const NOTHING: RunUsage = { usage: NO_USAGE, estimated: false };

/** The receiver of an answer. */
interface Receiver {
  sink: Sink;
  /** Resolves once a complete answer is stored, where it is to be; with the error of one that was not. */
  kept: (end: AnswerEnd) => Promise<ApiError | null>;
  /** Sends the rest of a complete answer. */
  send: (end: AnswerEnd) => Promise<void>;
}

/** A generating request on its model, answered as a stream or as one body. */
export class GenerationRun implements InferenceRun {
  readonly demand: QueueDemand;
  /** Replaced once the prompt is compacted. */
  #request: GenerationRequest;
  readonly #compaction: Compaction | null;
  readonly #ready: ReadyModel;
  readonly #endpoint: GenerationPath;
  readonly #identity: AnswerIdentity;
  readonly #deps: GenerationRunDeps;

  constructor(
    { request, compaction, ready }: RequestOnModel,
    { endpoint, idPrefix }: { endpoint: GenerationPath; idPrefix: string },
    deps: GenerationRunDeps,
  ) {
    this.demand = { tier: request.tier, requests: request.submissions.length, bounded: true };
    this.#request = request;
    this.#compaction = compaction;
    this.#ready = ready;
    this.#endpoint = endpoint;
    this.#identity = {
      id: `${idPrefix}${deps.randomId()}`,
      created: epochSeconds(deps.clock),
      model: ready.model.id,
      tier: request.tier,
      fingerprint: ready.facts.fingerprint,
      upstream: ready.facts.upstream?.name,
    };
    this.#deps = deps;
  }

  estimate(): UsageEstimate {
    const { submissions, tier } = this.#request;
    const summary = this.#compaction?.summary.submissions ?? [];
    return generationEstimate([...summary, ...submissions], this.#ready, tier);
  }

  async start(context: RunContext): Promise<Outcome> {
    const release = await this.#request.reserve?.(context.exchange.caller);
    try {
      return await this.#answered(context);
    } finally {
      release?.();
    }
  }

  async #answered(context: RunContext): Promise<Outcome> {
    const { exchange, charge, count, outcomeOf } = context;
    const summarized = this.#compaction === null ? null : await this.#summarize(this.#compaction, context);
    if (summarized?.status === "error") throw summarized.error;
    if (summarized?.status === "cancelled") return this.#outcome(exchange, summarized, null);
    const { caller, arrivedAt, disconnected, res } = exchange;
    const { clock, grammars } = this.#deps;
    const form = () => enforceForm(this.#request, this.#ready.facts);
    const prompts = await grammars.run(form, caller.owner, disconnected);
    const { sink, kept, send } = this.#receiver(exchange, () => run.firstContent());
    const run: RequestRun = new RequestRun({
      submissions: prompts.map((prompt) => ({ ...prompt, owner: caller.owner, endpoint: this.#endpoint })),
      ready: this.#ready,
      sink,
      meter: count.meter,
      clock,
      arrivedAt,
      before: summarized,
      counted: (promptTokens) => charge.counted(promptTokens),
    });
    // The client disconnected, or read too slowly; after a complete answer this does nothing.
    res.once("close", () => run.cancel());
    // Its summary has waited for room.
    const generated = await (summarized === null ? outcomeOf(run) : run.outcome);
    const fault = generated.status === "ok" ? await kept(generated) : null;
    const outcome: RunOutcome = fault === null ? generated : { status: "error", error: fault };
    if (outcome.status === "error" && !sink.opened) throw outcome.error;
    return this.#outcome(exchange, outcome, outcome.status === "ok" ? () => send(outcome) : null);
  }

  /** Compacts the prompt of the request. */
  async #summarize(
    { summary, continued }: Compaction,
    { exchange, count, outcomeOf }: RunContext,
  ): Promise<RunOutcome> {
    const { caller, arrivedAt, disconnected, res } = exchange;
    const ready = this.#ready;
    const sink = new BodySink(1, () => {});
    const owned = { owner: caller.owner, endpoint: this.#endpoint };
    const submissions = enforceForm(summary, ready.facts).map((prompt) => ({ ...prompt, ...owned }));
    const { clock } = this.#deps;
    const run = new RequestRun({ submissions, ready, sink, meter: count.meter, clock, arrivedAt, unfinished: true });
    res.once("close", () => run.cancel());
    const outcome = await outcomeOf(run);
    if (outcome.status !== "ok") return outcome;
    const request = await this.#deps.grammars.run(() => continued(sink.choices[0]!), caller.owner, disconnected);
    this.#request = request.truncate ? await withinContext(request, ready, disconnected) : request;
    return outcome;
  }

  #outcome(exchange: Exchange, outcome: RunOutcome, send: Outcome["send"]): Outcome {
    this.#log(exchange, outcome);
    const used = outcome.status === "error" ? NOTHING : outcome;
    const left = outcome.status === "cancelled" && used.usage.completion_tokens === 0;
    return {
      status: outcome.status,
      use: this.#use(used),
      // A request whose client disconnected before the first token is not charged, but its prompt counts against the rate limit.
      charged: outcome.status !== "error" && !left,
      send,
    };
  }

  #receiver(exchange: Exchange, firstContent: () => void): Receiver {
    const choices = choicesOf(this.#request);
    if (!this.#request.stream) {
      const sink = new BodySink(choices, firstContent);
      const kept = (end: AnswerEnd) => this.#keep(exchange, sink.choices, end);
      return { sink, kept, send: (end) => this.#sendBody(exchange, sink, end) };
    }
    const stream = this.#streamSink(exchange, firstContent);
    if (this.#request.keep === undefined) return { sink: stream, kept: async () => null, send: async () => {} };
    const body = new BodySink(choices, () => {});
    const sink = new KeepingSink(stream, body, (written, end) => this.#keep(exchange, written, end));
    return { sink, kept: () => sink.kept, send: async () => {} };
  }

  #streamSink({ req, res, id }: Exchange, firstContent: () => void): StreamSink {
    const { streamBuffer: buffer, stallMs, silenceMs } = this.#deps.options;
    const format = this.#request.chunks(this.#identity, id);
    const keepAlive = () => format.keepAlive?.() ?? KEEP_ALIVE;
    const options = { type: format.type, buffer, stallMs, silenceMs, keepAlive };
    const stream = new EventStream(res, options, () => stampProcessingTime(req, res), firstContent);
    return new StreamSink(stream, format);
  }

  async #sendBody({ req, res }: Exchange, { choices }: BodySink, end: AnswerEnd): Promise<void> {
    await sendValue(req, res, this.#request.whole(this.#identity, choices, end), this.#deps.options.stallMs);
  }

  /** Stores a complete answer that is to be stored. Resolves with null, or with the error of one that was not. */
  async #keep({ caller, id }: Exchange, choices: readonly WholeChoice[], end: AnswerEnd): Promise<ApiError | null> {
    const answer = { identity: this.#identity, choices, end, caller, requestId: id };
    try {
      await fromStore(this.#request.keep?.(answer) ?? Promise.resolve());
      return null;
    } catch (err) {
      if (err instanceof ApiError) return err;
      this.#deps.log.error({ id: this.#identity.id, err }, "answer not stored");
      return new ApiError("internal_error", "The server could not store the answer.");
    }
  }

  #use({ usage, estimated }: RunUsage): NonNullable<Outcome["use"]> {
    const { model, fingerprint, tier } = this.#identity;
    return {
      endpoint: this.#endpoint,
      model,
      version: fingerprint,
      tier,
      inputTokens: usage.prompt_tokens,
      cachedTokens: usage.prompt_tokens_details.cached_tokens,
      outputTokens: usage.completion_tokens,
      reasoningTokens: usage.completion_tokens_details.reasoning_tokens,
      estimated,
    };
  }

  #log({ id: requestId, arrivedAt }: Exchange, outcome: RunOutcome): void {
    const { clock, log } = this.#deps;
    const { id, model, tier } = this.#identity;
    const fields = { requestId, id, model, tier, status: outcome.status, ms: Math.round(clock.now() - arrivedAt) };
    if (outcome.status === "error") {
      log.error({ ...fields, code: outcome.error.code, reason: outcome.error.message }, "generation failed");
    } else if (outcome.status === "ok") {
      const { prompt_tokens, completion_tokens } = outcome.usage;
      log.debug({ ...fields, prompt_tokens, completion_tokens }, "generation ended");
    } else {
      log.debug(fields, "generation cancelled");
    }
  }
}

function choicesOf({ submissions }: GenerationRequest): number {
  return submissions.reduce((sum, { n }) => sum + n, 0);
}
