import type { OnlineTier } from "../../engine/protocol/request.ts";
import { ApiError, unavailable } from "../../openapi/api-error.ts";
import { MIN_RETRY_AFTER, retryAfterSeconds } from "../../platform/retry-after.ts";

/** The refusal of a request because too much work is ahead of it: the only one that may be deferred as a job. */
export class Overload extends ApiError {}

/** 429 for flex, which is not charged and was promised no wait; 503 for the tiers that were. */
export function overload(tier: OnlineTier, message: string, retryInMs: number): Overload {
  const retryAfter = retryAfterSeconds(retryInMs);
  if (tier === "flex") {
    const advice = "It was not charged. Try again later, or with service_tier default.";
    return new Overload("resource_unavailable", `${message} ${advice}`, { retryAfter });
  }
  return new Overload("server_is_overloaded", message, { retryAfter });
}

/** 429: the upstream's rate is used up for longer than the request may wait. */
export function rateLimited(tier: OnlineTier, model: string, waitMs: number, mostMs: number): Overload {
  const message =
    `The upstream of the model '${model}' takes no more requests within this minute: a request would wait ` +
    `${inSeconds(waitMs)}, longer than ${inSeconds(mostMs)}.`;
  if (tier === "flex") return overload(tier, message, waitMs - mostMs);
  return new Overload("rate_limit_exceeded", message, { retryAfter: retryAfterSeconds(waitMs - mostMs) });
}

export function shuttingDown(): ApiError {
  return unavailable("server_shutting_down", "The server is shutting down.", MIN_RETRY_AFTER);
}

/** A duration for a message. */
export function inSeconds(ms: number): string {
  return `${ms < 10_000 ? (ms / 1000).toFixed(1) : Math.round(ms / 1000)} s`;
}
