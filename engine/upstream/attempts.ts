import { ApiError } from "../../openapi/api-error.ts";
import type { Tier } from "../protocol/request.ts";
import { type Classified, CONSEQUENCES, mayRetry } from "./answer/answer-class.ts";
import { failureError } from "./answer/failure-error.ts";
import { AttemptFailure, isLost } from "./attempt.ts";
import type { Visit } from "./replica/replica.ts";
import { retryDelayMs } from "./replica/retry-budget.ts";
import type { UpstreamAccess } from "./upstream-access.ts";

/** Further attempts of one request, each only while its client has seen nothing. */
const MOST_RETRIES = 2;
/** After so many preemptions a request runs to its end: it must not starve. */
const MOST_PREEMPTIONS = 2;
/** Milliseconds that a request waits for the only replica where that asks for it: a longer wait is the client's. */
const MOST_WAIT_MS = 2000;

export interface AttemptsParts {
  access: UpstreamAccess;
  tier: Tier;
  /** Estimated tokens of prompt and answer. */
  tokens: number;
  /** Of the prompt, as prefix-blocks.ts has them. */
  blocks: readonly number[];
  /** The request is over, by its client or for another reason. */
  signal: AbortSignal;
  /** True once the client may have seen a part of the answer. */
  content: () => boolean;
  /** Its place is needed: true once nothing is left of what was passed on of its answer. */
  mayPreempt: () => boolean;
  /** Called with the failure of each attempt. */
  failed?: (failed: Classified) => void;
  /** One attempt, at the replica of the visit; throws AttemptFailure. */
  attempt: (visit: Visit) => Promise<void>;
}

/**
 * Attempts a request at one replica after another, until one succeeds or the failure is final. Resolves with the error for the
 * client, or null: it succeeded, or the signal has aborted. Every visit is left before it resolves.
 */
export async function attempts(parts: AttemptsParts): Promise<ApiError | null> {
  const { access, tier, tokens, blocks, signal, content, attempt } = parts;
  let preemptions = 0;
  let preempted = false;
  const mayPreempt = () => preemptions < MOST_PREEMPTIONS && parts.mayPreempt();
  const avoid = new Set<string>();
  access.retries.requested();
  for (let retries = 0; ; ) {
    let visit: Visit;
    try {
      visit = await access.gate.enter({ tier, tokens, blocks, avoid, preempted, mayPreempt }, signal);
    } catch (error) {
      if (signal.aborted) return null;
      if (error instanceof ApiError) return error;
      throw error;
    }
    let failed: Classified;
    let lost = false;
    try {
      await attempt(visit);
      visit.leave("clean", false);
      access.ended("ok");
      return null;
    } catch (error) {
      if (signal.aborted) {
        visit.leave("other", false);
        access.ended("cancelled");
        return null;
      }
      // It says nothing of the replica, and takes no retry.
      preempted = visit.preemption.aborted;
      if (preempted && (error instanceof AttemptFailure || error === visit.preemption.reason)) {
        preemptions++;
        access.ended("preempted");
        continue;
      }
      if (!(error instanceof AttemptFailure)) {
        visit.leave("other", false);
        throw error;
      }
      failed = classified(error, parts, visit);
      lost = isLost(error.failure);
    }
    avoid.add(visit.replica.url);
    const { breaker, limit } = CONSEQUENCES[failed.class];
    visit.leave(limit ? "busy" : "other", breaker, failed.retryAfterMs);
    access.failed(visit.replica, failed, content());
    parts.failed?.(failed);
    // Another replica has not asked for the wait.
    const waitMs = access.gate.hasOther(avoid) ? 0 : (failed.retryAfterMs ?? 0);
    const again = !content() && mayRetry(failed) && retries < MOST_RETRIES && waitMs <= MOST_WAIT_MS;
    // All requests of a replica that has died come back at once, and none has load there any more.
    const free = lost && access.gate.hasOther(avoid);
    if (!again || !(free || access.retries.take()))
      return failureError(failed, access.config.name, access.config.trusted);
    access.retried(failed.class);
    await access.pause(retryDelayMs(++retries, access.random(), waitMs), signal);
  }
}

function classified(
  { failure }: AttemptFailure,
  { access, tier, content }: AttemptsParts,
  { replica }: Visit,
): Classified {
  const priority = "priority" in access.marks(tier).body;
  return access.classify(failure, { content: content(), healthy: replica.healthy, priority });
}
