import { ApiError } from "../../openapi/api-error.ts";
import { mayRetry } from "./answer/answer-class.ts";
import { failureError } from "./answer/failure-error.ts";
import { type HedgeParts, hedgedOutcome } from "./hedged-outcome.ts";
import { Visit } from "./replica/replica.ts";
import { retryDelayMs } from "./replica/retry-budget.ts";
import type { VisitOutcome } from "./visit-outcome.ts";

/** Further attempts of one request, each only while its client has seen nothing. */
const MOST_RETRIES = 2;
/** After so many preemptions a request runs to its end: it must not starve. */
const MOST_PREEMPTIONS = 2;
/** Milliseconds that a request waits for the only replica where that asks for it: a longer wait is the client's. */
const MOST_WAIT_MS = 2000;

export interface AttemptsParts extends HedgeParts {
  /** Its place is needed: true once nothing is left of what was passed on of its answer. */
  mayPreempt: () => boolean;
}

/** What the attempts of a request were so far. */
interface History {
  retries: number;
  preemptions: number;
  /** URLs of replicas that have failed at it. */
  avoid: Set<string>;
  /** True where the last attempt was preempted: it took nothing from the request's turn. */
  preempted: boolean;
}

/** What follows an attempt: another one, or the end with the error for the client, null without one. */
type Next = { kind: "now" } | { kind: "later"; waitMs: number } | { kind: "over"; error: ApiError | null };

/**
 * Attempts a request at one replica after another, until one succeeds or the failure is final. Resolves with the error for the
 * client, or null: it succeeded, or the signal has aborted. Every visit is left before it resolves.
 */
export async function attempts(parts: AttemptsParts): Promise<ApiError | null> {
  const { access, signal } = parts;
  const history: History = { retries: 0, preemptions: 0, avoid: new Set(), preempted: false };
  access.retries.requested();
  if (parts.hedge !== null) access.hedging?.requested();
  for (;;) {
    const visit = await entered(parts, history);
    if (!(visit instanceof Visit)) return visit;
    const outcome = await hedgedOutcome(visit, attemptParts(parts, history));
    const next = following(outcome, parts, history);
    if (next.kind === "over") return next.error;
    if (next.kind === "later") await access.pause(next.waitMs, signal);
  }
}

/** A request that has failed is not hedged. */
function attemptParts(parts: AttemptsParts, { avoid }: History): HedgeParts {
  const failed: HedgeParts["failed"] = (failure, replica) => {
    avoid.add(replica.url);
    parts.failed?.(failure, replica);
  };
  const hedge = parts.hedge !== null && avoid.size > 0 ? { ...parts.hedge, mayHedge: false } : parts.hedge;
  return { ...parts, failed, hedge };
}

/** The error of a request that no replica will take; null where the signal has aborted. */
async function entered(parts: AttemptsParts, history: History): Promise<Visit | ApiError | null> {
  const { access, tier, tokens, sequences, blocks, signal } = parts;
  const mayPreempt = () => history.preemptions < MOST_PREEMPTIONS && parts.mayPreempt();
  try {
    return await access.gate.enter({ tier, tokens, sequences, blocks, mayPreempt, ...history }, signal);
  } catch (error) {
    if (signal.aborted) return null;
    if (error instanceof ApiError) return error;
    throw error;
  }
}

/**
 * | outcome | what follows |
 * |---|---|
 * | ok, cancelled, outrun | the end |
 * | preempted | another attempt at once, in front of those that wait; it takes no retry |
 * | failed, of a class that may be retried, before any content, with retries left | another attempt after a wait |
 * | failed otherwise | the end with its error |
 */
function following(outcome: VisitOutcome, parts: AttemptsParts, history: History): Next {
  history.preempted = outcome.kind === "preempted";
  switch (outcome.kind) {
    case "ok":
    case "cancelled":
    case "outrun":
      return { kind: "over", error: null };
    case "preempted":
      history.preemptions++;
      return { kind: "now" };
    case "failed":
      return afterFailure(outcome, parts, history);
  }
}

function afterFailure(
  { failed, lost }: Extract<VisitOutcome, { kind: "failed" }>,
  { access, content }: AttemptsParts,
  history: History,
): Next {
  const other = access.gate.hasOther(history.avoid);
  // Another replica has not asked for the wait.
  const waitMs = other ? 0 : (failed.retryAfterMs ?? 0);
  const again = !content() && mayRetry(failed) && history.retries < MOST_RETRIES && waitMs <= MOST_WAIT_MS;
  // All requests of a replica that has died come back at once, and none has load there any more.
  const free = lost && other;
  if (!again || !(free || access.retries.take())) {
    return { kind: "over", error: failureError(failed, access.config.name, access.config.trusted) };
  }
  access.retried(failed.class);
  return { kind: "later", waitMs: retryDelayMs(++history.retries, access.random(), waitMs) };
}
