import type { Execute, Executed, LineUsage } from "../../batch/lines/line-execution.ts";
import { ApiError } from "../../openapi/api-error.ts";
import type { Usage } from "../../openapi/generation/usage.ts";
import { jsonBytes } from "../../openapi/json/json-pieces.ts";
import type { BatchEndpoint } from "../../openapi/resources/batches.ts";
import { epochSeconds } from "../../platform/clock.ts";
import type { Place } from "../admission/admission.ts";
import { ModelLoad } from "../admission/model-load.ts";
import { requireTask } from "../admission/task-check.ts";
import type { WholeChoice } from "../generation/output/body-sink.ts";
import type { CallIdentity } from "../generation/output/chunk-format.ts";
import { LineSink } from "../generation/output/line-sink.ts";
import type { GenerationRequest } from "../generation/request.ts";
import { RequestRun, type RunOutcome } from "../generation/request-run.ts";
import { checkTokens } from "../generation/token-id-check.ts";
import { enforceForm } from "../grammar/tool-grammar.ts";
import type { GenerationEndpoint } from "../metrics/request-meter.ts";
import { chatReader } from "../routes/chat.ts";
import { completionReader } from "../routes/completions.ts";
import { embeddingsReader } from "../routes/embeddings.ts";
import { embedLine } from "./embedding-line.ts";
import type { ExecuteDeps } from "./line-deps.ts";
import { failedLine, refusedLine, timedOutLine, watchLine } from "./line-outcome.ts";

/** Reads a line's body, and returns what runs it. Both throw the ApiError that is its answer. */
type Reader = (body: unknown) => (place: Place, line: { owner: string; signal: AbortSignal }) => Promise<Executed>;

/**
 * Runs a batch line through the code of the synchronous endpoints, at tier batch whatever its body asks for. It has no
 * place in the online queue and takes none away.
 */
export function lineExecutor(deps: ExecuteDeps): Execute {
  const generation =
    (endpoint: GenerationEndpoint, idPrefix: string, read: (body: unknown) => GenerationRequest): Reader =>
    (body) => {
      const request = read(body);
      return (place, { owner, signal }) => {
        requireTask(place.facts, "generate");
        checkTokens(request.submissions, place.facts);
        return new LineCall(deps, endpoint, idPrefix, request, place).run(owner, signal);
      };
    };
  const readInput = embeddingsReader(deps.limits);
  const readers: Record<BatchEndpoint, Reader> = {
    "/v1/chat/completions": generation("/v1/chat/completions", "chatcmpl", chatReader(deps.limits)),
    "/v1/completions": generation("/v1/completions", "cmpl", completionReader(deps.limits)),
    "/v1/embeddings": (body) => {
      const request = readInput(body);
      return (place, line) => embedLine(deps, request, place, line);
    },
  };
  // Apart from the online loads, so that batch lines fill no queue and stretch no Retry-After.
  const batchLoads = new Map<string, ModelLoad>();
  return async (endpoint, body, { owner, model: id, signal }) => {
    try {
      const run = await deps.grammars.run(() => readers[endpoint](body), batchSide(owner), signal);
      const model = deps.models.get(id);
      if (model === undefined) return { how: "passing", reason: `the model '${id}' is not served` };
      const { state, facts } = model.engine;
      if (state.name !== "ready" || facts === null) return { how: "passing", reason: `the engine is ${state.name}` };
      const load = batchLoads.get(model.id) ?? new ModelLoad(() => deps.clock.now());
      batchLoads.set(model.id, load);
      const place = { model, facts, load };
      return await run(place, { owner, signal });
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
      created: epochSeconds(deps.clock),
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
    let call: RequestRun;
    const start = () => {
      call = new RequestRun(submissions, this.#place, sink, meter, clock, clock.now());
      return call;
    };
    const watch = { signal, timeoutMs: lineTimeoutMs, online: loads.of(model) };
    const { outcome, timedOut, withOthers } = await watchLine(start, watch);
    meter.ended(outcome.status);
    if (timedOut) return timedOutLine(lineTimeoutMs);
    return this.#executed(outcome, sink.choices, withOthers);
  }

  async #executed(outcome: RunOutcome, choices: readonly WholeChoice[], withOthers: boolean): Promise<Executed> {
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
