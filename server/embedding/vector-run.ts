import { markOf } from "../../openapi/generation/answer-mark.ts";
import type { VectorPath } from "../../openapi/inference-path.ts";
import type { Clock } from "../../platform/clock.ts";
import type { ReadyModel } from "../admission/ready-model.ts";
import { embeddingEstimate, type UsageEstimate } from "../admission/usage-estimate.ts";
import { sendLargeJson } from "../http/respond.ts";
import type { InferenceRun, Outcome, QueueDemand, RunContext } from "../inference/endpoint.ts";
import type { Exchange } from "../inference/exchange.ts";
import type { AppOptions } from "../options/app-options.ts";
import { EmbeddingRun } from "./embedding-run.ts";
import type { VectorRequest } from "./vector-request.ts";

export interface VectorRunDeps {
  options: Pick<AppOptions, "stallMs">;
  clock: Clock;
}

export interface VectorRunParts {
  request: VectorRequest;
  ready: ReadyModel;
  owner: string;
  endpoint: VectorPath;
}

/** A request for vectors on its model. */
export class VectorRun implements InferenceRun {
  readonly demand: QueueDemand;
  readonly #parts: VectorRunParts;
  readonly #deps: VectorRunDeps;

  constructor(parts: VectorRunParts, deps: VectorRunDeps) {
    const { request, ready, owner } = parts;
    const predictedWaitMs = ready.load.embedding.waitMs(request.tier, owner);
    this.demand = { tier: request.tier, requests: 1, bounded: true, predictedWaitMs };
    this.#parts = parts;
    this.#deps = deps;
  }

  estimate(): UsageEstimate {
    const { request, ready } = this.#parts;
    return embeddingEstimate(request.inputs, ready, request.tier);
  }

  async start({ exchange, charge, count, outcomeOf }: RunContext): Promise<Outcome> {
    const { arrivedAt } = exchange;
    const { clock } = this.#deps;
    const { request, ready, owner, endpoint } = this.#parts;
    const { tier, inputs, truncate } = request;
    const run = new EmbeddingRun({
      submission: { tier, inputs, owner, endpoint, ...(truncate && { truncate }) },
      ready,
      meter: count.meter,
      clock,
      arrivedAt,
      counted: (promptTokens) => charge.counted(promptTokens),
    });
    exchange.res.once("close", () => run.cancel());
    const outcome = await outcomeOf(run);
    if (outcome.status === "error") throw outcome.error;
    const { status, promptTokens, estimated } = outcome;
    return {
      status,
      use: {
        endpoint,
        model: ready.model.id,
        version: ready.facts.fingerprint,
        tier,
        inputTokens: promptTokens,
        cachedTokens: 0,
        outputTokens: 0,
        reasoningTokens: 0,
        estimated,
      },
      // A request whose client disconnected before any input was computed is not charged.
      charged: promptTokens > 0,
      send: status === "ok" ? () => this.#send(exchange, outcome.vectors, promptTokens) : null,
    };
  }

  async #send({ req, res }: Exchange, vectors: readonly Float32Array[], promptTokens: number): Promise<void> {
    const { request, ready } = this.#parts;
    const mark = markOf(ready.facts.upstream?.name);
    const text = await request.write(ready.model.id, vectors, promptTokens, mark);
    sendLargeJson(req, res, text, this.#deps.options.stallMs);
  }
}
