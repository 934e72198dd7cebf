import type { IncomingMessage, ServerResponse } from "node:http";
import type { RequestHandler } from "express";
import type { EmbeddingInput } from "../engine/protocol/embedding.ts";
import type { Caller } from "../ledger/key.ts";
import type { Admission, Place } from "./admission.ts";
import type { Allowance, Allowances } from "./allowance.ts";
import { embeddingAsk } from "./allowance-ask.ts";
import { counted } from "./counted.ts";
import { departure } from "./departure.ts";
import type { AppDependencies } from "./dependencies.ts";
import { EmbeddingCall } from "./embedding-call.ts";
import { ClientGone, readJson } from "./json-body.ts";
import { noteUse } from "./middleware/access-log.ts";
import { callerOf } from "./middleware/authentication.ts";
import { contextOf } from "./middleware/request-context.ts";
import { checkInputs, type ModelTask, requireTask } from "./model-task.ts";
import { outcomeWithin } from "./patience.ts";
import { checkTier } from "./permission.ts";
import type { Endpoint, RequestMeter } from "./request-meter.ts";
import { sendJson } from "./respond.ts";
import type { OnlineTier } from "./wait.ts";

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

/** The way of the endpoints that read and generate nothing: embeddings and ranks. */
export class EmbeddingRoute {
  readonly #endpoint: Endpoint;
  readonly #dependencies: AppDependencies;
  readonly #admission: Admission;
  readonly #allowances: Allowances;
  /** Throws an ApiError for a body that is not valid. */
  readonly #check: (body: unknown) => VectorRequest;

  constructor(
    endpoint: Endpoint,
    dependencies: AppDependencies,
    admission: Admission,
    allowances: Allowances,
    check: (body: unknown) => VectorRequest,
  ) {
    this.#endpoint = endpoint;
    this.#dependencies = dependencies;
    this.#admission = admission;
    this.#allowances = allowances;
    this.#check = check;
  }

  readonly handler: RequestHandler = (req, res) =>
    counted(this.#dependencies.metrics, this.#endpoint, async (open) => {
      const caller = callerOf(req);
      this.#admission.refuseUnread(req, caller);
      const request = this.#check(await readJson(req, res, this.#dependencies.options.bodyLimit));
      const model = this.#admission.find(request.model, caller);
      checkTier(caller, request.tier);
      const entrant = { tier: request.tier, owner: caller.owner };
      await this.#admission.awake(model, entrant, caller, departure(res));
      const meter = open(model.id, request.tier);
      const place = this.#admission.place(model);
      requireTask(place.facts, request.task);
      checkInputs(request, place.facts);
      const { embedding } = place.load;
      const patienceMs = this.#admission.patienceMs(request.tier);
      this.#admission.admit(place, entrant, 1, patienceMs, embedding.waitMs(request.tier, caller.owner));
      const ask = () => embeddingAsk(request.inputs, place, request.tier);
      await this.#allowances.during(caller, res, ask, (allowance) =>
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
    const { clock, options } = this.#dependencies;
    const { arrivedAt } = contextOf(req);
    const { tier, inputs } = request;
    const caller = callerOf(req);
    const submission = { tier, inputs, owner: caller.owner, endpoint: this.#endpoint };
    const counted = (promptTokens: number) => allowance.counted(promptTokens);
    const call = new EmbeddingCall({ submission, place, meter, clock, arrivedAt, mayRestart: true, counted });
    res.once("close", () => call.cancel());
    this.#admission.waits(place, tier, call);
    const outcome = await outcomeWithin(call, this.#admission.longestWaitMs(tier), clock.now() - arrivedAt, (ms) =>
      this.#admission.waitedTooLong(place, { tier, owner: caller.owner }, ms),
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
    this.#dependencies.ledger.record(use, allowance.charged(inputTokens));
  }
}
