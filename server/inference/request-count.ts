import type { OnlineTier } from "../../engine/protocol/request.ts";
import { ApiError } from "../../openapi/api-error.ts";
import type { InferencePath } from "../../openapi/inference-path.ts";
import { ClientGone } from "../http/connection/client-gone.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { RequestMeter, RequestStatus } from "../metrics/request-meter.ts";

/** Counts how one request ended, once: without a model's name while its model is unknown. */
export class RequestCount {
  readonly #metrics: Pick<Metrics, "meter" | "turnedAway">;
  readonly #endpoint: InferencePath | null;
  #meter: RequestMeter | null = null;
  #ended = false;

  /** `endpoint` is null for a request that is not counted. */
  constructor(metrics: Pick<Metrics, "meter" | "turnedAway">, endpoint: InferencePath | null) {
    this.#metrics = metrics;
    this.#endpoint = endpoint;
  }

  /** The request's model and tier are known. */
  identify(model: string, tier: OnlineTier): void {
    if (this.#endpoint !== null) this.#meter = this.#metrics.meter(model, this.#endpoint, tier);
  }

  get meter(): RequestMeter {
    if (this.#meter === null) throw new Error("the request has no meter");
    return this.#meter;
  }

  ended(status: RequestStatus): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#meter?.ended(status);
  }

  failed(error: unknown): void {
    const status = statusOf(error);
    if (this.#meter === null && this.#endpoint !== null && !this.#ended)
      this.#metrics.turnedAway(this.#endpoint, status);
    this.ended(status);
  }
}

/** End of a request that failed with this error. */
export function statusOf(error: unknown): RequestStatus {
  if (error instanceof ClientGone) return "cancelled";
  if (!(error instanceof ApiError)) return "error";
  // The overload of flex is a 429.
  if (error.status === 503 || error.code === "resource_unavailable") return "unavailable";
  if (error.status === 429) return "limited";
  return error.status < 500 ? "refused" : "error";
}
