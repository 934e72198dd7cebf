/** Whether the engine counts as idle, so that batch work may use it. */
export interface IdleState {
  idle: boolean;
  /** Unix milliseconds of its last change. */
  sinceMs: number;
}

/** Factor on the load below which idle begins: above it, idle ends. */
const LEAVE_FACTOR = 1.25;
/** Milliseconds that idle lasts at least. Online work precedes batch work in every step, so this costs online work nothing. */
const LEAST_IDLE_MS = 60_000;
/** Milliseconds that busy lasts at least: online load comes in bursts, and batch work should not start in each pause. */
const LEAST_BUSY_MS = 5 * 60_000;

/** Idle begins below the load `idleBelow` and ends above 1.25 times that, each state after its least time. */
export function idleHysteresis(idleBelow: number, load: number, nowMs: number, before: IdleState | null): IdleState {
  if (before === null) return { idle: load < idleBelow, sinceMs: nowMs };
  const changes = before.idle ? load > idleBelow * LEAVE_FACTOR : load < idleBelow;
  const leastMs = before.idle ? LEAST_IDLE_MS : LEAST_BUSY_MS;
  // A wall clock that was set back must not prolong the state.
  const lasted = nowMs < before.sinceMs ? leastMs : nowMs - before.sinceMs;
  return changes && lasted >= leastMs ? { idle: !before.idle, sinceMs: nowMs } : before;
}
