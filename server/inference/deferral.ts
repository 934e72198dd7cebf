import type { Jobs } from "../../batch/api/jobs.ts";
import { mayUseTier } from "../../ledger/key.ts";
import { ApiError } from "../../openapi/api-error.ts";
import type { BatchEndpoint } from "../../openapi/resources/batches.ts";
import type { Log } from "../../platform/log.ts";
import type { RequestWaits } from "../admission/admission.ts";
import { Overload } from "../admission/overload.ts";
import { sendAcceptedJob } from "../http/accepted-job.ts";
import { respondAsync } from "../http/prefer-header.ts";
import { fromStore } from "../http/store-error-response.ts";
import type { Exchange } from "./exchange.ts";

export interface DeferralDeps {
  jobs: Pick<Jobs, "create">;
  log: Log;
}

/** A request whose client prefers a job to a long wait: `Prefer: respond-async`. */
export class Deferral {
  readonly #exchange: Exchange;
  readonly #endpoint: BatchEndpoint;
  readonly #body: unknown;
  /** Milliseconds that the client would wait for the answer; null where it does not say. */
  readonly #waitMs: number | null;

  private constructor(exchange: Exchange, endpoint: BatchEndpoint, body: unknown, waitMs: number | null) {
    this.#exchange = exchange;
    this.#endpoint = endpoint;
    this.#body = body;
    this.#waitMs = waitMs;
  }

  /** Null where the client prefers none, or may have none: a job runs at tier batch. */
  static preferred(exchange: Exchange, endpoint: BatchEndpoint | null, body: unknown): Deferral | null {
    if (endpoint === null || !mayUseTier(exchange.caller, "batch")) return null;
    const preference = respondAsync(exchange.req.headers.prefer);
    return preference === null ? null : new Deferral(exchange, endpoint, body, preference.waitMs);
  }

  /** The bounds of the tier, within the wait that the client accepts. */
  within({ predictedMs, startMs }: RequestWaits): RequestWaits {
    const predicted = lesser(this.#waitMs, predictedMs);
    return { predictedMs: predicted, startMs: lesser(predicted, startMs) };
  }

  /** Answers 202 with a job in place of an Overload, and returns null. Returns the error of a request that is not deferred. */
  async replace(error: unknown, deps: DeferralDeps): Promise<unknown> {
    if (!(error instanceof Overload)) return error;
    try {
      return (await this.#createJob(error, deps)) ? null : error;
    } catch (failure) {
      // A limit on batches must not turn a refusal that passes into one that stays.
      return failure instanceof ApiError && failure.status === 429 ? error : failure;
    }
  }

  /** False for a body that is too long for a job. */
  async #createJob(overload: Overload, { jobs, log }: DeferralDeps): Promise<boolean> {
    const { req, res, caller, id: requestId } = this.#exchange;
    this.#exchange.throwIfGone();
    const job = await fromStore(jobs.create(caller, this.#endpoint, this.#body));
    if (job === null) return false;
    log.debug({ requestId, job: job.id, reason: overload.message }, "request deferred as a job");
    res.setHeader("preference-applied", "respond-async");
    sendAcceptedJob(req, res, job, overload.retryAfter ?? 0);
    return true;
  }
}

/** Null is without bound. */
function lesser(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.min(a, b);
}
