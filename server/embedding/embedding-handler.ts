import type { IncomingMessage, ServerResponse } from "node:http";
import type { RequestHandler } from "express";
import type { EmbeddingInput } from "../../engine/protocol/embedding.ts";
import type { OnlineTier } from "../../engine/protocol/request.ts";
import type { Caller } from "../../ledger/key.ts";
import type { UsageLedger } from "../../ledger/usage-ledger.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Admission, Place } from "../admission/admission.ts";
import type { Allowance, Allowances } from "../admission/allowance.ts";
import { embeddingAsk } from "../admission/allowance-estimate.ts";
import { counted } from "../admission/request-outcome.ts";
import { outcomeWithin } from "../admission/start-timeout.ts";
import { checkInputs, type ModelTask, requireTask } from "../admission/task-check.ts";
import { checkTier } from "../auth/access-control.ts";
import { noteUse } from "../http/access-log.ts";
import { readJson } from "../http/body/json-body.ts";
import { departure } from "../http/connection/client-disconnect.ts";
import { ClientGone } from "../http/connection/client-gone.ts";
import { callerOf } from "../http/context/caller.ts";
import { contextOf } from "../http/context/request-context.ts";
import { sendJson } from "../http/respond.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { Endpoint, RequestMeter } from "../metrics/request-meter.ts";
import type { AppOptions } from "../options/app-options.ts";
import { EmbeddingRun } from "./embedding-run.ts";

/** A checked body, and how its endpoint writes the answer. */
export interface VectorRequest {
  model: string;
  tier: OnlineTier;
  task: ModelTask;
  inputs: EmbeddingInput[];
  /** Numbers of a vector that are wanted; null for all. */
  dimensions: number | null;
  /** JSON text; may give the thread back in between. */
  write(model: string, vectors: readonly Float32Array[], promptTokens: number): Promise<string>;
}

export interface EmbeddingDeps {
  admission: Admission;
  allowances: Allowances;
  metrics: Metrics;
  ledger: UsageLedger;
  options: Pick<AppOptions, "bodyLimit" | "stallMs">;
  clock: Clock;
}

/** The way of the endpoints that read and generate nothing: embeddings and ranks. */
export class EmbeddingHandler {
  readonly #endpoint: Endpoint;
  readonly #deps: EmbeddingDeps;
  /** Throws an ApiError for a body that is not valid. */
  readonly #check: (body: unknown) => VectorRequest;

  constructor(endpoint: Endpoint, check: (body: unknown) => VectorRequest, deps: EmbeddingDeps) {
    this.#endpoint = endpoint;
    this.#deps = deps;
    this.#check = check;
  }

  readonly handler: RequestHandler = (req, res) =>
    counted(this.#deps.metrics, this.#endpoint, async (open) => {
      const caller = callerOf(req);
      this.#deps.admission.refuseUnread(req, caller);
      const request = this.#check(await readJson(req, res, this.#deps.options.bodyLimit));
      const model = this.#deps.admission.find(request.model, caller);
      checkTier(caller, request.tier);
      const entrant = { tier: request.tier, owner: caller.owner };
      await this.#deps.admission.awake(model, entrant, caller, departure(res));
      const meter = open(model.id, request.tier);
      const place = this.#deps.admission.place(model);
      requireTask(place.facts, request.task);
      checkInputs(request, place.facts);
      const { embedding } = place.load;
      const patienceMs = this.#deps.admission.patienceMs(request.tier);
      this.#deps.admission.admit(place, entrant, 1, patienceMs, embedding.waitMs(request.tier, caller.owner));
      const ask = () => embeddingAsk(request.inputs, place, request.tier);
      await this.#deps.allowances.during(caller, res, ask, (allowance) =>
        this.#run(req, res, request, place, meter, allowance),
      );
    });

  /** Throws the ApiError of a call that failed. */
  async #run(
    req: IncomingMessage,
    res: ServerResponse,
    request: VectorRequest,
    place: Place,
    meter: RequestMeter,
    allowance: Allowance,
  ): Promise<void> {
    if (res.destroyed || req.socket.destroyed) throw new ClientGone();
    const { clock, options } = this.#deps;
    const { arrivedAt } = contextOf(req);
    const { tier, inputs } = request;
    const caller = callerOf(req);
    const submission = { tier, inputs, owner: caller.owner, endpoint: this.#endpoint };
    const counted = (promptTokens: number) => allowance.counted(promptTokens);
    const call = new EmbeddingRun({ submission, place, meter, clock, arrivedAt, mayRestart: true, counted });
    res.once("close", () => call.cancel());
    this.#deps.admission.waits(place, tier, call);
    const outcome = await outcomeWithin(call, this.#deps.admission.longestWaitMs(tier), clock.now() - arrivedAt, (ms) =>
      this.#deps.admission.waitedTooLong(place, { tier, owner: caller.owner }, ms),
    );
    if (outcome.status === "error") throw outcome.error;
    this.#charge(caller, request, place, outcome.promptTokens, allowance);
    meter.ended(outcome.status);
    const counts = { inputTokens: outcome.promptTokens, cachedTokens: 0, outputTokens: 0 };
    noteUse(req, { model: place.model.id, tier, outcome: outcome.status, ...counts });
    if (outcome.status === "cancelled") return;
    const text = await request.write(place.model.id, outcome.vectors, outcome.promptTokens);
    if (!res.destroyed) sendJson(req, res, 200, text, options.stallMs);
  }

  #charge(
    { owner, key }: Caller,
    { tier }: VectorRequest,
    { model, facts }: Place,
    inputTokens: number,
    allowance: Allowance,
  ): void {
    // A client that left before anything was computed pays nothing.
    if (inputTokens === 0) return;
    const use = {
      owner,
      keyId: key?.id ?? null,
      endpoint: this.#endpoint,
      model: model.id,
      version: facts.fingerprint,
      tier,
      inputTokens,
      cachedTokens: 0,
      outputTokens: 0,
      reasoningTokens: 0,
    };
    this.#deps.ledger.record(use, allowance.charged(inputTokens));
  }
}
