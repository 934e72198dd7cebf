import { onTestFinished, vi } from "vitest";

/** Noon, so that the time of a test ends no day and no daily budget. */
const NOON = Date.UTC(2026, 10, 21, 12);

/**
 * Stops both clocks and the timers of this thread to the end of the test. They advance by `pass`, and by a second for each
 * check of a rig's `reaches`. Calls of the store's thread and of `node:timers/promises` take real time.
 */
export function stopTime(): void {
  vi.useFakeTimers({ now: NOON, toFake: ["setTimeout", "clearTimeout", "performance", "Date"] });
  onTestFinished(() => {
    vi.useRealTimers();
  });
}

export async function pass(seconds: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(seconds * 1000);
}
