import type { OnlineTier } from "../../engine/protocol/request.ts";
import type { InferencePath } from "../../openapi/inference-path.ts";
import type { BatchEndpoint } from "../../openapi/resources/batches.ts";
import type { ReadyModel } from "../admission/ready-model.ts";
import type { InFlight } from "../admission/start-timeout.ts";
import type { UsageEstimate } from "../admission/usage-estimate.ts";
import type { Charge, ChargeableUse } from "../admission/usage-limits.ts";
import type { RoutableRequest } from "../routing/router.ts";
import type { Exchange } from "./exchange.ts";
import type { RequestCount } from "./request-count.ts";

/** The parts of an endpoint beside the path that all requests share: `answer` calls them in the order of these interfaces. */
export interface InferenceEndpoint {
  /** Its label in metrics; null for an endpoint whose requests are not counted. */
  readonly label: InferencePath | null;
  /** True where a large body is refused unread while no model takes requests. */
  readonly refusesUnread: boolean;
  /** True where a body is read as JSON whatever its content type is. */
  readonly anyContentType?: boolean;
  /** The field of a body that holds its messages, for errors. Default: `messages`. */
  readonly messagesField?: string | undefined;
  /** Answers a request that needs no model in memory. Resolves to false for any other. */
  answered?(body: unknown, exchange: Exchange): Promise<boolean>;
  /** Throws the ApiError of an invalid body. */
  parse(body: unknown, exchange: Exchange): InferenceRequest | Promise<InferenceRequest>;
}

/** A valid body. */
export interface InferenceRequest extends RoutableRequest {
  /** The endpoint of the batch line that the request may become when too much is ahead of it; null for none. */
  readonly jobEndpoint: BatchEndpoint | null;
  /** True for a request that a metric counts under its model once that is known. */
  readonly metered: boolean;
  /** Fields of the body that were accepted and not used. */
  readonly ignored: readonly string[];
  /** The request at tier flex. Absent where its client did not leave the tier to the server. */
  asFlex?(): InferenceRequest | Promise<InferenceRequest>;
  /** Throws the ApiError of a request that the model does not support. */
  prepare(ready: ReadyModel, exchange: Exchange): InferenceRun | Promise<InferenceRun>;
}

/** A request that its model can run. */
export interface InferenceRun {
  readonly demand: QueueDemand;
  estimate(): UsageEstimate;
  /** Throws the error of a request that failed before the first byte of its answer. */
  start(context: RunContext): Promise<Outcome>;
}

/** Needs of a request in its model's queue. */
export interface QueueDemand {
  readonly tier: OnlineTier;
  readonly requests: number;
  /** False where no bound on the wait applies. */
  readonly bounded: boolean;
  /** The predicted wait in milliseconds, where it is not that of a generation. */
  readonly predictedWaitMs?: number;
}

export interface RunContext {
  readonly exchange: Exchange;
  readonly charge: Charge;
  readonly count: RequestCount;
  /** The outcome of the submitted request, which fails with Overload when it is displaced or does not start in time. */
  readonly outcomeOf: <T>(inFlight: InFlight<T>) => Promise<T>;
}

/** End of a request whose answer is complete, has begun, or has no receiver any more. */
export interface Outcome extends ChargeableUse {
  status: "ok" | "cancelled" | "error";
  /** Sends the rest of the answer; null for none. */
  send: (() => Promise<void>) | null;
}
