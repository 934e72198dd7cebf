import type { Execute, Executed, LineUsage } from "../batch/execute.ts";
import { ApiError } from "../openapi/api-error.ts";
import type { BatchEndpoint } from "../openapi/batches.ts";
import type { RequestLimits } from "../openapi/request-limits.ts";
import type { Usage } from "../openapi/usage.ts";
import type { Place } from "./admission.ts";
import { Call, type CallOutcome } from "./call.ts";
import type { CallIdentity } from "./chunk-format.ts";
import type { Clock } from "./dependencies.ts";
import type { GenerationRequest } from "./generation-route.ts";
import { LineSink } from "./line-sink.ts";
import { Load, type Loads } from "./load.ts";
import type { Metrics } from "./metrics.ts";
import type { ModelSet, ServedModel } from "./model-set.ts";
import { chatReader } from "./routes/chat.ts";
import { completionReader } from "./routes/completions.ts";
import { enforceTools } from "./tool-rule.ts";
import { checkTokens } from "./vocabulary-check.ts";
import type { WholeChoice } from "./whole-sink.ts";

export interface ExecuteDeps {
  models: ModelSet;
  /** Of online requests. */
  loads: Loads;
  metrics: Metrics;
  limits: RequestLimits;
  clock: Clock;
  randomId: () => string;
  /** How long one line may take once the engine has started it; its wait in the engine's queue is not the line's fault. */
  lineTimeoutMs: number;
}

/** Errors of an engine that had the request when it ended. */
const DEATHS = ["engine_died", "engine_failed"];

/**
 * Runs a batch line through the code of the synchronous endpoints, at tier batch whatever its body asks for. It has no
 * place in the online queue and takes none away.
 */
export function lineExecutor(deps: ExecuteDeps): Execute {
  const readers: Record<BatchEndpoint, { idPrefix: string; read: (body: unknown) => GenerationRequest }> = {
    "/v1/chat/completions": { idPrefix: "chatcmpl", read: chatReader(deps.limits) },
    "/v1/completions": { idPrefix: "cmpl", read: completionReader(deps.limits) },
  };
  // Apart from the online loads, so that batch lines fill no queue and stretch no Retry-After.
  const batchLoads = new Map<string, Load>();
  return async (endpoint, body, { owner, signal }) => {
    const { read, idPrefix } = readers[endpoint];
    try {
      const request = read(body);
      const model = deps.models.get(request.model);
      if (model === undefined) return { how: "passing", reason: `the model '${request.model}' is not served` };
      const { state, facts } = model.engine;
      if (state.name !== "ready" || facts === null) return { how: "passing", reason: `the engine is ${state.name}` };
      checkTokens(request.submissions, facts.vocabulary);
      const load = batchLoads.get(model.id) ?? new Load();
      batchLoads.set(model.id, load);
      const place = { model, facts, load };
      return await new LineCall(deps, endpoint, idPrefix, request, place).run(owner, signal);
    } catch (error) {
      if (error instanceof ApiError) return refused(error, deps.models.list()[0]);
      return { how: "fault", reason: error instanceof Error ? error.message : String(error) };
    }
  };
}

class LineCall {
  readonly #deps: ExecuteDeps;
  readonly #endpoint: BatchEndpoint;
  readonly #request: GenerationRequest;
  readonly #place: Place;
  readonly #identity: CallIdentity;

  constructor(deps: ExecuteDeps, endpoint: BatchEndpoint, idPrefix: string, request: GenerationRequest, place: Place) {
    this.#deps = deps;
    this.#endpoint = endpoint;
    this.#request = request;
    this.#place = place;
    this.#identity = {
      id: `${idPrefix}-${deps.randomId()}`,
      created: deps.clock.epochSeconds(),
      model: place.model.id,
      tier: "default",
      fingerprint: place.facts.fingerprint,
    };
  }

  async run(owner: string, signal: AbortSignal): Promise<Executed> {
    if (signal.aborted) return { how: "stopped" };
    const { loads, metrics, clock, lineTimeoutMs } = this.#deps;
    const model = this.#place.model.id;
    const online = loads.of(model);
    const others = { before: online.waiting + online.running, arrived: online.arrived };
    const meter = metrics.meter(model, this.#endpoint, "batch");
    let choices: readonly WholeChoice[] = [];
    const count = this.#request.submissions.reduce((sum, { n }) => sum + n, 0);
    const sink = new LineSink(
      count,
      () => call.firstContent(),
      (whole) => {
        choices = whole;
      },
    );
    const submissions = enforceTools(this.#request, this.#place.facts).map((asked) => {
      return { ...asked, owner, tier: "batch" as const };
    });
    const call: Call = new Call(submissions, this.#place, sink, meter, clock, clock.now());
    let timedOut = false;
    let timer: NodeJS.Timeout | undefined;
    void call.running.then(() => {
      timer = setTimeout(() => {
        timedOut = true;
        call.cancel();
      }, lineTimeoutMs);
    });
    const abort = () => call.cancel();
    signal.addEventListener("abort", abort, { once: true });
    const outcome = await call.outcome;
    clearTimeout(timer);
    signal.removeEventListener("abort", abort);
    meter.ended(outcome.status);
    if (timedOut) {
      return {
        how: "timed_out",
        message: `This request took longer than ${Math.round(lineTimeoutMs / 1000)} seconds.`,
      };
    }
    const withOthers = others.before > 0 || online.arrived > others.arrived;
    return this.#executed(outcome, choices, withOthers);
  }

  #executed(outcome: CallOutcome, choices: readonly WholeChoice[], withOthers: boolean): Executed {
    switch (outcome.status) {
      case "cancelled":
        return { how: "stopped" };
      case "error": {
        const { error } = outcome;
        if (DEATHS.includes(error.code ?? "")) return { how: "engine_died", reason: error.message, withOthers };
        return refused(error, this.#place.model);
      }
      case "ok": {
        const whole = this.#request.whole(this.#identity, choices, outcome.usage);
        return {
          how: "answered",
          statusCode: 200,
          body: JSON.stringify({ ...whole, nightshift: { tier: "batch" } }),
          usage: lineUsage(outcome.usage),
          version: this.#place.facts.fingerprint,
        };
      }
    }
  }
}

/** What is the request's own fault is its answer; what may pass is tried again. */
function refused(error: ApiError, model: ServedModel | undefined): Executed {
  if (error.status === 429 || error.status === 503) return { how: "passing", reason: error.message };
  return {
    how: "answered",
    statusCode: error.status,
    body: JSON.stringify(error.body),
    usage: null,
    version: model?.engine.facts?.fingerprint ?? "",
  };
}

function lineUsage(usage: Usage): LineUsage {
  return {
    inputTokens: usage.prompt_tokens,
    cachedTokens: usage.prompt_tokens_details.cached_tokens,
    outputTokens: usage.completion_tokens,
    reasoningTokens: usage.completion_tokens_details.reasoning_tokens,
  };
}
