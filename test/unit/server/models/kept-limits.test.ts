import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { KeptLimits, type LimitedUpstream } from "../../../../server/models/kept-limits.ts";
import type { ReplicaLimitsRow } from "../../../../store/tables/replica-limits.ts";
import { StoreError } from "../../../../store/types/store-error.ts";
import { memoryTables } from "../../store/memory-tables.ts";

const DAY_MS = 86_400_000;
const [A, B] = ["http://a/v1", "http://b/v1"];

beforeEach(() => void vi.useFakeTimers({ now: 10 * DAY_MS }));
afterEach(() => void vi.useRealTimers());

/** Upstreams whose replicas have these limits without and beside online requests, by name and URL. */
function upstreams(all: Record<string, Record<string, [number, number]>>): LimitedUpstream[] {
  return Object.entries(all).map(([name, replicas]) => ({
    access: {
      config: { name },
      replicas: Object.entries(replicas).map(([url, pair]) => {
        return {
          url,
          limit: {
            get limits() {
              return { alone: pair[0], beside: pair[1] };
            },
          },
        };
      }),
    },
  }));
}

function database() {
  const { replicaLimits } = memoryTables();
  const state = { failing: false, writes: 0, warned: [] as string[] };
  const check = () => {
    if (state.failing) throw new StoreError("full", "no space");
  };
  const store = {
    replicaLimits: {
      all: async () => {
        check();
        return replicaLimits.reads.all();
      },
      replace: async (args: { rows: readonly ReplicaLimitsRow[] }) => {
        check();
        state.writes++;
        replicaLimits.writes.replace(args);
      },
    },
  };
  const clock = { now: () => Date.now(), epochMs: () => Date.now() };
  const log = { warn: (_: object, message: string) => void state.warned.push(message) };
  /** A start of the server. */
  const open = () => KeptLimits.open({ store, clock, log });
  const rows = () => replicaLimits.reads.all().map(({ upstream, replica }) => `${upstream} ${replica}`);
  return { open, rows, state };
}

test("a changed limit is written within five seconds, and an unchanged one is not", async () => {
  const { open, state } = database();
  const pair: [number, number] = [8, 2];
  const limits = await open();
  expect(limits.of("up", A)).toBeUndefined();
  await limits.watch(upstreams({ up: { [A]: pair } }));
  expect(state.writes).toBe(1);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(state.writes).toBe(1);
  [pair[0], pair[1]] = [20, 5];
  await vi.advanceTimersByTimeAsync(5000);
  expect(state.writes).toBe(2);
  const next = await open();
  expect(next.of("up", A)).toEqual({ alone: 20, beside: 5 });
  expect(next.of("other", A)).toBeUndefined();
  await limits.close();
});

test("the limits at shutdown are written", async () => {
  const { open } = database();
  const pair: [number, number] = [8, 2];
  const limits = await open();
  await limits.watch(upstreams({ up: { [A]: pair } }));
  pair[0] = 30;
  await limits.close();
  expect((await open()).of("up", A)).toEqual({ alone: 30, beside: 2 });
});

test("limits are forgotten after a day, and those of a running server stay young", async () => {
  const { open, state } = database();
  const limits = await open();
  await limits.watch(upstreams({ up: { [A]: [30, 3] } }));
  await vi.advanceTimersByTimeAsync(2 * DAY_MS);
  expect(state.writes).toBe(1 + 48);
  expect((await open()).of("up", A)).toEqual({ alone: 30, beside: 3 });
  await limits.close();
  vi.setSystemTime(Date.now() + DAY_MS - 1000);
  expect((await open()).of("up", A)).toBeDefined();
  vi.setSystemTime(Date.now() + 1000);
  expect((await open()).of("up", A)).toBeUndefined();
});

test("rows of replicas that are configured no more are removed, also where none is", async () => {
  const { open, rows } = database();
  const first = await open();
  await first.watch(upstreams({ up: { [A]: [30, 3], [B]: [4, 1] }, other: { [A]: [5, 1] } }));
  await first.close();
  expect(rows()).toEqual([`other ${A}`, `up ${A}`, `up ${B}`]);
  const second = await open();
  await second.watch(upstreams({ up: { [B]: [4, 1] } }));
  expect(rows()).toEqual([`up ${B}`]);
  await second.close();
  await (await open()).watch([]);
  expect(rows()).toEqual([]);
});

test("a limit above the highest one begins at that", async () => {
  const { open } = database();
  const limits = await open();
  await limits.watch(upstreams({ up: { [A]: [9999, 600] } }));
  expect((await open()).of("up", A)).toEqual({ alone: 512, beside: 512 });
  await limits.close();
});

test("a store that fails is reported once, and the limits are written when it is well again", async () => {
  const { open, rows, state } = database();
  state.failing = true;
  const limits = await open();
  await limits.watch(upstreams({ up: { [A]: [9, 2] } }));
  await vi.advanceTimersByTimeAsync(20_000);
  expect(state.warned).toEqual([
    "The replicas' limits could not be read; they begin anew",
    "The replicas' limits could not be written; trying again",
  ]);
  state.failing = false;
  await vi.advanceTimersByTimeAsync(5000);
  expect(rows()).toEqual([`up ${A}`]);
  await limits.close();
});
