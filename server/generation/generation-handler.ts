import type { IncomingMessage, ServerResponse } from "node:http";
import type { RequestHandler } from "express";
import type { Jobs } from "../../batch/api/jobs.ts";
import type { OnlineTier } from "../../engine/protocol/request.ts";
import { type Caller, mayUseTier } from "../../ledger/key.ts";
import type { Prices } from "../../ledger/prices.ts";
import type { UsageLedger } from "../../ledger/usage-ledger.ts";
import type { Clock } from "../../platform/clock.ts";
import { epochSeconds } from "../../platform/clock.ts";
import type { Log } from "../../platform/log.ts";
import { type Admission, Overload, type Place } from "../admission/admission.ts";
import type { Allowance, Allowances } from "../admission/allowance.ts";
import { generationAsk } from "../admission/allowance-estimate.ts";
import { counted } from "../admission/request-outcome.ts";
import { outcomeWithin } from "../admission/start-timeout.ts";
import { requireTask } from "../admission/task-check.ts";
import { checkTier } from "../auth/access-control.ts";
import type { Grammars } from "../grammar/grammar-compiler.ts";
import { enforceForm } from "../grammar/tool-grammar.ts";
import { noteUse } from "../http/access-log.ts";
import { readJson } from "../http/body/json-body.ts";
import { departure } from "../http/connection/client-disconnect.ts";
import { ClientGone } from "../http/connection/client-gone.ts";
import { callerOf } from "../http/context/caller.ts";
import { contextOf, stampProcessingTime } from "../http/context/request-context.ts";
import { sendPending } from "../http/pending.ts";
import { type RespondAsync, respondAsync } from "../http/prefer-header.ts";
import { sendJson, sendValue } from "../http/respond.ts";
import { EventStream } from "../http/sse.ts";
import { fromStore } from "../http/store-error-response.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { GenerationEndpoint, RequestMeter } from "../metrics/request-meter.ts";
import type { ServedModel } from "../models/model-set.ts";
import type { AppOptions } from "../options/app-options.ts";
import { tokenCall } from "../tokenize/token-call.ts";
import { dryRun } from "./dry-run.ts";
import { BodySink } from "./output/body-sink.ts";
import type { CallIdentity } from "./output/chunk-format.ts";
import { StreamSink } from "./output/stream-sink.ts";
import type { GenerationRequest } from "./request.ts";
import { RequestRun, type RunOutcome } from "./request-run.ts";
import { checkTokens } from "./token-id-check.ts";

export interface GenerationDeps {
  admission: Admission;
  allowances: Allowances;
  metrics: Metrics;
  grammars: Grammars;
  ledger: UsageLedger;
  prices: Prices;
  jobs: Jobs;
  options: Pick<AppOptions, "bodyLimit" | "streamBuffer" | "stallMs">;
  log: Log;
  clock: Clock;
  /** 16 or more unguessable characters of [A-Za-z0-9], new on every call. */
  randomId: () => string;
}

/** The way of every generating endpoint: read, check, admit, run, and count how it ended. */
export class GenerationHandler {
  readonly #endpoint: GenerationEndpoint;
  readonly #idPrefix: string;
  readonly #deps: GenerationDeps;
  /** Throws an ApiError for a body that is not valid. */
  readonly #check: (body: unknown) => GenerationRequest;

  constructor(
    endpoint: GenerationEndpoint,
    idPrefix: string,
    check: (body: unknown) => GenerationRequest,
    deps: GenerationDeps,
  ) {
    this.#endpoint = endpoint;
    this.#idPrefix = idPrefix;
    this.#deps = deps;
    this.#check = check;
  }

  readonly handler: RequestHandler = (req, res) =>
    counted(this.#deps.metrics, this.#endpoint, async (open) => {
      const caller = callerOf(req);
      this.#deps.admission.refuseUnread(req, caller);
      const body = await readJson(req, res, this.#deps.options.bodyLimit);
      const signal = departure(res);
      const request = await this.#deps.grammars.run(() => this.#check(body), caller.owner, signal);
      const model = this.#deps.admission.find(request.model, caller);
      checkTier(caller, request.tier);
      const entrant = { tier: request.tier, owner: caller.owner };
      await this.#deps.admission.awake(model, entrant, caller, signal);
      if (request.dryRun) return await this.#dryRun(req, res, request, model, signal);
      const meter = open(model.id, request.tier);
      const place = this.#deps.admission.place(model);
      requireTask(place.facts, "generate");
      checkTokens(request.submissions, place.facts);
      // A job runs as a batch does.
      const asynchronous = request.stream || !mayUseTier(caller, "batch") ? null : respondAsync(req.headers.prefer);
      const patience = this.#patience(request.tier, asynchronous);
      try {
        this.#deps.admission.admit(place, entrant, request.submissions.length, patience.expectedMs);
        const ask = () => generationAsk(request.submissions, place, request.tier);
        await this.#deps.allowances.during(caller, res, ask, (allowance) =>
          this.#run(req, res, request, place, meter, patience.waitedMs, allowance, signal),
        );
      } catch (error) {
        if (asynchronous === null || !(error instanceof Overload)) throw error;
        await this.#putOff(req, res, body, error);
        meter.ended("put_off");
      }
    });

  async #dryRun(
    req: IncomingMessage,
    res: ServerResponse,
    request: GenerationRequest,
    model: ServedModel,
    signal: AbortSignal,
  ): Promise<void> {
    const place = this.#deps.admission.place(model);
    requireTask(place.facts, "generate");
    checkTokens(request.submissions, place.facts);
    const { prices } = this.#deps;
    const parts = {
      admission: this.#deps.admission,
      allowances: this.#deps.allowances,
      caller: callerOf(req),
      res,
      place,
      signal,
    };
    await tokenCall(parts, async (tokenize) => {
      sendJson(req, res, 200, JSON.stringify(await dryRun(request, place, prices, tokenize)));
    });
  }

  /**
   * How long a request may be expected to wait, and how long it may then really wait, until it starts. A client that would
   * have a job instead gets it past either.
   */
  #patience(tier: OnlineTier, asynchronous: RespondAsync | null): Record<"expectedMs" | "waitedMs", number | null> {
    const bound = this.#deps.admission.patienceMs(tier);
    const longest = this.#deps.admission.longestWaitMs(tier);
    if (asynchronous === null) return { expectedMs: bound, waitedMs: longest };
    const patience = lesser(asynchronous.waitMs, bound);
    return { expectedMs: patience, waitedMs: lesser(patience, longest) };
  }

  /** Answers 202: the request is a job now. Throws the overload where it can't be one. */
  async #putOff(req: IncomingMessage, res: ServerResponse, body: unknown, overload: Overload): Promise<void> {
    if (res.destroyed || req.socket.destroyed) throw new ClientGone();
    const { jobs, log } = this.#deps;
    const job = await fromStore(jobs.create(callerOf(req), this.#endpoint, body));
    if (job === null) throw overload;
    log.debug({ requestId: contextOf(req).id, job: job.id, reason: overload.message }, "request put off");
    res.setHeader("preference-applied", "respond-async");
    sendPending(req, res, job, overload.retryAfter ?? 0);
  }

  /** Throws the ApiError of a call that failed before its first byte. */
  async #run(
    req: IncomingMessage,
    res: ServerResponse,
    request: GenerationRequest,
    place: Place,
    meter: RequestMeter,
    patienceMs: number | null,
    allowance: Allowance,
    signal: AbortSignal,
  ): Promise<void> {
    if (res.destroyed || req.socket.destroyed) throw new ClientGone();
    const { clock, randomId, options } = this.#deps;
    const identity: CallIdentity = {
      id: `${this.#idPrefix}-${randomId()}`,
      created: epochSeconds(clock),
      model: place.model.id,
      tier: request.tier,
      fingerprint: place.facts.fingerprint,
    };
    const firstContent = () => call.firstContent();
    const whole = request.stream ? null : new BodySink(choicesOf(request), firstContent);
    const sink =
      whole ??
      new StreamSink(
        new EventStream(
          res,
          { buffer: options.streamBuffer, stallMs: options.stallMs },
          () => stampProcessingTime(req, res),
          firstContent,
        ),
        request.chunks(identity),
        request.includeUsage,
      );
    const caller = callerOf(req);
    const { grammars } = this.#deps;
    const formed = await grammars.run(() => enforceForm(request, place.facts), caller.owner, signal);
    const submissions = formed.map((asked) => ({
      ...asked,
      owner: caller.owner,
      endpoint: this.#endpoint,
    }));
    const counted = (promptTokens: number) => allowance.counted(promptTokens);
    const call: RequestRun = new RequestRun(submissions, place, sink, meter, clock, contextOf(req).arrivedAt, counted);
    // The client went away or read too slowly; after a whole answer this does nothing.
    res.once("close", () => call.cancel());
    this.#deps.admission.waits(place, request.tier, call);
    const waitedMs = clock.now() - contextOf(req).arrivedAt;
    const outcome = await outcomeWithin(call, patienceMs, waitedMs, (ms) =>
      this.#deps.admission.waitedTooLong(place, { tier: request.tier, owner: caller.owner }, ms),
    );
    if (outcome.status === "error" && !sink.opened) throw outcome.error;
    meter.ended(outcome.status);
    this.#charge(caller, identity, outcome, allowance);
    this.#note(req, identity, outcome);
    if (whole === null || outcome.status !== "ok") return;
    await sendValue(req, res, request.whole(identity, whole.choices, outcome.usage), options.stallMs);
  }

  /** A request that failed is not charged; one whose client left pays from its first token on. */
  #charge(
    { owner, key }: Caller,
    { model, tier, fingerprint }: CallIdentity,
    outcome: RunOutcome,
    allowance: Allowance,
  ): void {
    if (outcome.status === "error") return;
    const { status, usage } = outcome;
    if (status === "cancelled" && usage.completion_tokens === 0) {
      // Left before anything came of it. Who has prompts read again and again for nobody, does so within the limit.
      allowance.end(usage.prompt_tokens);
      return;
    }
    const use = {
      owner,
      keyId: key?.id ?? null,
      endpoint: this.#endpoint,
      model,
      version: fingerprint,
      tier,
      inputTokens: usage.prompt_tokens,
      cachedTokens: usage.prompt_tokens_details.cached_tokens,
      outputTokens: usage.completion_tokens,
      reasoningTokens: usage.completion_tokens_details.reasoning_tokens,
    };
    this.#deps.ledger.record(use, allowance.charged(usage.total_tokens));
  }

  #note(req: IncomingMessage, { id, model, tier }: CallIdentity, outcome: RunOutcome): void {
    const { clock, log } = this.#deps;
    const { id: requestId, arrivedAt } = contextOf(req);
    if (outcome.status !== "error") {
      const { prompt_tokens, completion_tokens, prompt_tokens_details } = outcome.usage;
      noteUse(req, {
        model,
        tier,
        outcome: outcome.status,
        inputTokens: prompt_tokens,
        cachedTokens: prompt_tokens_details.cached_tokens,
        outputTokens: completion_tokens,
      });
    } else {
      noteUse(req, { model, tier, outcome: "error", inputTokens: 0, cachedTokens: 0, outputTokens: 0 });
    }
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

/** Null is without bound. */
function lesser(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.min(a, b);
}

function choicesOf(request: GenerationRequest): number {
  return request.submissions.reduce((sum, submission) => sum + submission.n, 0);
}
