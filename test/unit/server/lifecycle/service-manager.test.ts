import { expect, it, onTestFinished, vi } from "vitest";
import { ServiceManager } from "../../../../server/lifecycle/service-manager.ts";

function manager(env: Record<string, string>) {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const states: string[] = [];
  const log = { debug() {}, info() {}, warn() {}, error() {} };
  return { states, manager: new ServiceManager({ env, log, notify: (state) => void states.push(state) }) };
}

it("reports start, stop and two signs of life per watchdog interval to systemd", () => {
  const { states, manager: systemd } = manager({ NOTIFY_SOCKET: "/run/n", WATCHDOG_USEC: "60000000" });
  systemd.ready();
  expect(states).toEqual(["READY=1"]);
  vi.advanceTimersByTime(60_000);
  expect(states).toEqual(["READY=1", "WATCHDOG=1", "WATCHDOG=1"]);
  systemd.stopping();
  vi.advanceTimersByTime(60_000);
  expect(states.at(-1)).toBe("STOPPING=1");
  expect(states).toHaveLength(4);
});

it("reports only start and stop without a watchdog, and nothing without systemd", () => {
  const { states, manager: systemd } = manager({ NOTIFY_SOCKET: "/run/n" });
  systemd.ready();
  vi.advanceTimersByTime(3_600_000);
  expect(states).toEqual(["READY=1"]);
  const { states: none, manager: terminal } = manager({});
  terminal.ready();
  terminal.stopping();
  expect(none).toEqual([]);
});
