import { onTestFinished, vi } from "vitest";

/** Noon: a test's seconds and hours end no day, and with it no daily budget. */
const NOON = Date.UTC(2026, 10, 21, 12);

/**
 * Stops both clocks and the timers of this thread to the end of the test. They go on by `pass`, and by a second for each
 * look of a rig's `reaches`. What awaits the store's thread or `node:timers/promises` takes real time.
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
