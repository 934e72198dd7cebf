import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { MachineTime } from "../../../ledger/machine-time.ts";
import type { MachineInterval } from "../../../store/tables/machine-time.ts";
import { StoreError } from "../../../store/types/store-error.ts";
import { memoryTables } from "../store/memory-tables.ts";

const HOUR = 3600;
const CHAT = "/v1/chat/completions";

beforeEach(() => void vi.useFakeTimers({ now: 0 }));
afterEach(() => void vi.useRealTimers());

function running(add: (spell: MachineInterval) => void) {
  const errors: string[] = [];
  const spent: number[] = [];
  const time = new MachineTime({
    store: { machine: { add: async (spell) => add(spell), sums: () => Promise.reject(new Error("not used")) } },
    sink: { spent: (_, seconds) => void spent.push(seconds) },
    log: { error: (_, message) => void errors.push(message) },
    clock: { now: () => Date.now(), epochMs: () => Date.now() },
  });
  time.start();
  const piece = (tier: "default" | "batch", ms: number, endpoint = CHAT) =>
    time.piece("demo", { ms, online: true, inputs: 1, tokens: 1, shares: [{ tier, endpoint, ms }] });
  return { time, piece, errors, spent };
}

test("busy time is written within five seconds, one row per hour, exact to the microsecond", async () => {
  const { machine } = memoryTables();
  const { time, piece, spent } = running((spell) => machine.writes.add(spell));
  // A third of a microsecond remains each time; three make one.
  for (let i = 0; i < 3; i++) {
    piece("default", 10 + 1 / 3000);
    piece("batch", 2);
    await vi.advanceTimersByTimeAsync(5000);
  }
  await time.close();
  const { busy, up } = machine.reports.sums({ start: 0, end: HOUR, width: HOUR });
  expect(busy).toEqual([
    { bucket: 0, model: "demo", endpoint: CHAT, tier: "batch", busyUs: 6000 },
    { bucket: 0, model: "demo", endpoint: CHAT, tier: "default", busyUs: 30_001 },
  ]);
  expect(up).toEqual([{ bucket: 0, upUs: 15e6 }]);
  expect(spent.reduce((sum, seconds) => sum + seconds, 0)).toBeCloseTo(0.036001, 9);
});

test("an idle server writes its uptime once a minute", async () => {
  const spells: MachineInterval[] = [];
  running((spell) => void spells.push(spell));
  await vi.advanceTimersByTimeAsync(180_000);
  expect(spells.map(({ upUs, busy }) => [upUs, busy])).toEqual(Array(3).fill([60e6, []]));
});

test("time that could not be written is written once after recovery, with one log line", async () => {
  let full = true;
  const spells: MachineInterval[] = [];
  const { piece, errors, time } = running((spell) => {
    if (full) throw new StoreError("full", "no space");
    spells.push(spell);
  });
  piece("default", 7);
  await vi.advanceTimersByTimeAsync(15_000);
  piece("default", 3);
  full = false;
  await vi.advanceTimersByTimeAsync(5000);
  await time.close();
  expect(errors).toHaveLength(1);
  expect(spells.map(({ upUs }) => upUs)).toEqual([20e6, 0]);
  expect(spells[0]!.busy).toEqual([{ model: "demo", endpoint: CHAT, tier: "default", busyUs: 10_000 }]);
  expect(spells[1]!.busy).toEqual([]);
});

test("sums are in buckets of whole hours, from the first that begins in the range", () => {
  const { machine } = memoryTables();
  const time = { model: "demo", endpoint: CHAT, tier: "flex" as const };
  for (const hour of [0, 1, 23, 24, 25])
    machine.writes.add({ now: hour * HOUR + 5, upUs: 1000, busy: [{ ...time, busyUs: 100 + hour }] });
  const { busy, up } = machine.reports.sums({ start: 1, end: 25 * HOUR, width: 24 * HOUR });
  expect(up).toEqual([
    { bucket: 0, upUs: 2000 },
    { bucket: 24 * HOUR, upUs: 1000 },
  ]);
  expect(busy.map(({ busyUs }) => busyUs)).toEqual([101 + 123, 124]);
});
