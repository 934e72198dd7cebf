/** Whether online work leaves a trough for batch work, and since when it does or doesn't. */
export interface Trough {
  open: boolean;
  sinceMs: number;
}

/** A trough ends at this much above the load that it begins below. */
const LEAVE_FACTOR = 1.25;
/** A trough lasts at least so long. Batch work gives way to online work in every step, so this costs online nothing. */
const LEAST_OPEN_MS = 60_000;
/** Between two troughs: people come in bursts, and a machine that others share should not be taken in each pause. */
const LEAST_CLOSED_MS = 5 * 60_000;

/** A trough begins below `idleBelow` and ends above 1.25 times that, each after its least time. */
export function nextTrough(idleBelow: number, load: number, nowMs: number, before: Trough | null): Trough {
  if (before === null) return { open: load < idleBelow, sinceMs: nowMs };
  const turns = before.open ? load > idleBelow * LEAVE_FACTOR : load < idleBelow;
  const stays = before.open ? LEAST_OPEN_MS : LEAST_CLOSED_MS;
  // A wall clock that was set back must not hold the state for longer.
  const lasted = nowMs < before.sinceMs ? stays : nowMs - before.sinceMs;
  return turns && lasted >= stays ? { open: !before.open, sinceMs: nowMs } : before;
}
