import type { Tier } from "../protocol/request.ts";
import { type Classified, CONSEQUENCES } from "./answer/answer-class.ts";
import { AttemptFailure, isLost } from "./attempt.ts";
import type { Replica, Visit, Withdrawal } from "./replica/replica.ts";
import type { UpstreamAccess } from "./upstream-access.ts";

/** How one attempt at a replica has ended. */
export type VisitOutcome =
  | { kind: "ok" }
  /** By the signal: the client left, or the request is over for another reason. */
  | { kind: "cancelled" }
  /** Taken back. It says nothing of the replica. */
  | { kind: Withdrawal }
  /** `lost`: the connection was refused or broke, so that the replica computes nothing for the request. */
  | { kind: "failed"; failed: Classified; lost: boolean };

export interface VisitParts {
  access: UpstreamAccess;
  tier: Tier;
  /** The request is over, by its client or for another reason. */
  signal: AbortSignal;
  /** True once the client may have seen a part of the answer. */
  content: () => boolean;
  /** Called with the failure of each attempt. */
  failed?: (failed: Classified, replica: Replica) => void;
  /** One attempt, at the replica of the visit; throws AttemptFailure. */
  attempt: (visit: Visit) => Promise<void>;
}

/** One attempt, at the replica of the visit, which is left before it resolves. Rejects with an error that is none of the upstream's. */
export async function visitOutcome(visit: Visit, parts: VisitParts): Promise<VisitOutcome> {
  const { access, signal, attempt } = parts;
  try {
    await attempt(visit);
    visit.leave("clean", false);
    access.ended("ok");
    return { kind: "ok" };
  } catch (error) {
    if (signal.aborted) {
      visit.leave("other", false);
      access.ended("cancelled");
      return { kind: "cancelled" };
    }
    const { withdrawal, withdrawn } = visit;
    if (withdrawal !== null && (error instanceof AttemptFailure || error === withdrawn.reason)) {
      access.ended(withdrawal === "preempted" ? "preempted" : "cancelled");
      return { kind: withdrawal };
    }
    if (error instanceof AttemptFailure) return failedOutcome(error, visit, parts);
    visit.leave("other", false);
    throw error;
  }
}

function failedOutcome({ failure }: AttemptFailure, visit: Visit, parts: VisitParts): VisitOutcome {
  const { access, tier, content } = parts;
  const { replica } = visit;
  const priority = "priority" in access.marks(tier).body;
  const failed = access.classify(failure, { content: content(), healthy: replica.healthy, priority });
  const { breaker, limit } = CONSEQUENCES[failed.class];
  visit.leave(limit ? "busy" : "other", breaker, failed.retryAfterMs);
  access.failed(replica, failed, content());
  parts.failed?.(failed, replica);
  return { kind: "failed", failed, lost: isLost(failure) };
}
