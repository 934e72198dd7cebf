import type { Execute, Executed, LineUsage } from "../batch/execute.ts";
import { ApiError } from "../openapi/api-error.ts";
import type { BatchEndpoint } from "../openapi/batches.ts";
import { jsonBytes } from "../openapi/json-pieces.ts";
import type { RequestLimits } from "../openapi/request-limits.ts";
import type { Usage } from "../openapi/usage.ts";
import type { Place } from "./admission.ts";
import { Call, type CallOutcome } from "./call.ts";
import type { CallIdentity } from "./chunk-format.ts";
import type { Clock } from "./dependencies.ts";
import { embedLine } from "./embed-line.ts";
import type { GenerationRequest } from "./generation-route.ts";
import type { Grammars } from "./grammar-compiler.ts";
import { LineSink } from "./line-sink.ts";
import { failedLine, refusedLine, timedOutLine, watchLine } from "./line-watch.ts";
import { Load, type Loads } from "./load.ts";
import type { Metrics } from "./metrics.ts";
import type { ModelSet } from "./model-set.ts";
import { requireTask } from "./model-task.ts";
import type { GenerationEndpoint } from "./request-meter.ts";
import { chatReader } from "./routes/chat.ts";
import { completionReader } from "./routes/completions.ts";
import { embeddingsReader } from "./routes/embeddings.ts";
import { enforceForm } from "./tool-rule.ts";
import { checkTokens } from "./vocabulary-check.ts";
import type { WholeChoice } from "./whole-sink.ts";

export interface ExecuteDeps {
  models: ModelSet;
  /** Of online requests. */
  loads: Loads;
  metrics: Metrics;
  grammars: Grammars;
  limits: RequestLimits;
  clock: Clock;
  randomId: () => string;
  /** How long one line may take once the engine has started it; its wait in the engine's queue is not the line's fault. */
  lineTimeoutMs: number;
}

/** Reads a line's body: which model it wants, and how it runs there. Both throw the ApiError that is its answer. */
type Reader = (body: unknown) => {
  model: string;
  at(place: Place, line: { owner: string; signal: AbortSignal }): Promise<Executed>;
};

/**
 * Runs a batch line through the code of the synchronous endpoints, at tier batch whatever its body asks for. It has no
 * place in the online queue and takes none away.
 */
export function lineExecutor(deps: ExecuteDeps): Execute {
  const generation =
    (endpoint: GenerationEndpoint, idPrefix: string, read: (body: unknown) => GenerationRequest): Reader =>
    (body) => {
      const request = read(body);
      return {
        model: request.model,
        at(place, { owner, signal }) {
          requireTask(place.facts, "generate");
          checkTokens(request.submissions, place.facts);
          return new LineCall(deps, endpoint, idPrefix, request, place).run(owner, signal);
        },
      };
    };
  const readInput = embeddingsReader(deps.limits);
  const readers: Record<BatchEndpoint, Reader> = {
    "/v1/chat/completions": generation("/v1/chat/completions", "chatcmpl", chatReader(deps.limits)),
    "/v1/completions": generation("/v1/completions", "cmpl", completionReader(deps.limits)),
    "/v1/embeddings": (body) => {
      const request = readInput(body);
      return { model: request.model, at: (place, line) => embedLine(deps, request, place, line) };
    },
  };
  // Apart from the online loads, so that batch lines fill no queue and stretch no Retry-After.
  const batchLoads = new Map<string, Load>();
  return async (endpoint, body, { owner, signal }) => {
    try {
      const run = await deps.grammars.run(() => readers[endpoint](body), batchSide(owner), signal);
      const model = deps.models.get(run.model);
      if (model === undefined) return { how: "passing", reason: `the model '${run.model}' is not served` };
      const { state, facts } = model.engine;
      if (state.name !== "ready" || facts === null) return { how: "passing", reason: `the engine is ${state.name}` };
      const load = batchLoads.get(model.id) ?? new Load(deps.clock.now);
      batchLoads.set(model.id, load);
      const place = { model, facts, load };
      return await run.at(place, { owner, signal });
    } catch (error) {
      if (signal.aborted) return { how: "stopped" };
      if (error instanceof ApiError && error.status === 503) return { how: "passing", reason: error.message };
      if (error instanceof ApiError) return refusedLine(error, deps.models.list()[0]?.engine.facts?.fingerprint ?? "");
      return { how: "fault", reason: error instanceof Error ? error.message : String(error) };
    }
  };
}

/** An owner's batches wait apart from its online requests. */
function batchSide(owner: string): string {
  return `batch ${owner}`;
}

class LineCall {
  readonly #deps: ExecuteDeps;
  readonly #endpoint: GenerationEndpoint;
  readonly #request: GenerationRequest;
  readonly #place: Place;
  readonly #identity: CallIdentity;

  constructor(
    deps: ExecuteDeps,
    endpoint: GenerationEndpoint,
    idPrefix: string,
    request: GenerationRequest,
    place: Place,
  ) {
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
    const { loads, metrics, grammars, clock, lineTimeoutMs } = this.#deps;
    const form = () => enforceForm(this.#request, this.#place.facts);
    const formed = await grammars.run(form, batchSide(owner), signal);
    const model = this.#place.model.id;
    const meter = metrics.meter(model, this.#endpoint, "batch");
    const count = this.#request.submissions.reduce((sum, { n }) => sum + n, 0);
    const sink = new LineSink(count, () => call.firstContent());
    const submissions = formed.map((asked) => {
      return { ...asked, owner, endpoint: this.#endpoint, tier: "batch" as const };
    });
    let call: Call;
    const start = () => {
      call = new Call(submissions, this.#place, sink, meter, clock, clock.now());
      return call;
    };
    const watch = { signal, timeoutMs: lineTimeoutMs, online: loads.of(model) };
    const { outcome, timedOut, withOthers } = await watchLine(start, watch);
    meter.ended(outcome.status);
    if (timedOut) return timedOutLine(lineTimeoutMs);
    return this.#executed(outcome, sink.choices, withOthers);
  }

  async #executed(outcome: CallOutcome, choices: readonly WholeChoice[], withOthers: boolean): Promise<Executed> {
    switch (outcome.status) {
      case "cancelled":
        return { how: "stopped" };
      case "error":
        return failedLine(outcome.error, this.#place.facts.fingerprint, withOthers);
      case "ok": {
        const whole = this.#request.whole(this.#identity, choices, outcome.usage);
        return {
          how: "answered",
          statusCode: 200,
          body: String(await jsonBytes({ ...whole, nightshift: { tier: "batch" } })),
          usage: lineUsage(outcome.usage),
          version: this.#place.facts.fingerprint,
        };
      }
    }
  }
}

function lineUsage(usage: Usage): LineUsage {
  return {
    inputTokens: usage.prompt_tokens,
    cachedTokens: usage.prompt_tokens_details.cached_tokens,
    outputTokens: usage.completion_tokens,
    reasoningTokens: usage.completion_tokens_details.reasoning_tokens,
  };
}
