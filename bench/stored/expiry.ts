import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import Database from "better-sqlite3";
import { openStore, type Store } from "../../store/store.ts";
import { figure } from "../base/table.ts";
import { Chats } from "../prompts/chats.ts";
import { longestDelayMs, readLoopDelays } from "../target/loop-delay.ts";
import type { OwnServer } from "../target/server-process.ts";
import type { Target } from "../target/target.ts";
import { get } from "./reads.ts";
import { fillStored, SILENT, type StoredPlan } from "./stored-fill.ts";

export interface ExpiryResult {
  label: string;
  seconds: number;
  /** Bucket bound that no turn of the server's event loop exceeded. */
  longestTurnMs: number;
  /** The longest of the reads that were sent one after the other, and the longest gap of the concurrent chat streams. */
  longestReadMs: number;
  longestGapMs: number;
}

export interface Step {
  label: string;
  /** Calls of the step, until it removed less than its limit. */
  calls: number;
  longestMs: number;
  /** CPU time of the longest call, which other work on the machine changes little. */
  longestCpuMs: number;
}

const TABLES = ["completions", "responses", "response_items"];
const POLL_MS = 100;
/** Well below the half minute between start and first sweep. */
const QUIET_MS = 10_000;
/** Rows of one step of the sweeper, as in server/composition/retention-tasks.ts. */
const LIMIT = 100;

/** Reads and chat streams beside nothing, then while the server's sweeper removes every answer. */
export async function measureSweep(target: Target, { dataDir }: OwnServer): Promise<ExpiryResult[]> {
  const db = new Database(join(dataDir, "nightshift.db"), { readonly: true });
  const counts = TABLES.map((table) => db.prepare<[], number>(`SELECT count(*) FROM ${table}`).pluck());
  const left = () => counts.reduce((sum, count) => sum + count.get()!, 0);
  const whole = left();
  const reached = async (wanted: (rows: number) => boolean) => {
    while (!wanted(left())) await wait(POLL_MS);
  };
  const chats = new Chats(target);
  const results = await chats.during(async () => {
    const nothing = await beside(target, chats, "nothing", () => wait(QUIET_MS));
    if (left() < whole) throw new Error("the sweep began before the measurement: the machine is too slow for it");
    await reached((rows) => rows < whole);
    return [nothing, await beside(target, chats, "the sweeper", () => reached((rows) => rows === 0))];
  });
  db.close();
  return results;
}

async function beside(
  target: Target,
  chats: Chats,
  label: string,
  work: () => Promise<unknown>,
): Promise<ExpiryResult> {
  const before = await readLoopDelays(target);
  const began = performance.now();
  const state = { over: false };
  let longestReadMs = 0;
  const reads = async () => {
    while (!state.over) {
      const sentAt = performance.now();
      await get(target, "chat/completions?limit=1");
      longestReadMs = Math.max(longestReadMs, performance.now() - sentAt);
    }
  };
  const reading = reads();
  await work();
  const seconds = (performance.now() - began) / 1000;
  state.over = true;
  await reading;
  const longestTurnMs = longestDelayMs(before, await readLoopDelays(target));
  return { label, seconds, longestTurnMs, longestReadMs, longestGapMs: await chats.longestGap(began) };
}

/** Times each step of the removal in this process, over a store of its own without other work. */
export async function measureSteps(plan: StoredPlan, createdAt: number): Promise<Step[]> {
  const dataDir = await mkdtemp(join(tmpdir(), "nightshift-bench-stored-"));
  try {
    await fillStored(dataDir, plan, createdAt);
    const store = await openStore({ dataDir, log: SILENT });
    const steps: Step[] = [];
    for (const [label, step] of removals(store, createdAt + 1)) steps.push({ label, ...(await repeated(step)) });
    await store.close();
    return steps;
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
}

function removals(store: Store, before: number): [string, () => Promise<number>][] {
  const expiry = { before, limit: LIMIT };
  return [
    ["responses marked, and collected", () => store.retention.removeResponses(expiry)],
    ["rows of removed responses", () => store.responses.collect({ limit: LIMIT })],
    ["chat completions", () => store.retention.removeCompletions(expiry)],
    ["places of removed completions", () => store.completions.forgetRemoved({ before: 2 ** 40, limit: LIMIT })],
  ];
}

async function repeated(step: () => Promise<number>): Promise<Omit<Step, "label">> {
  let longestMs = 0;
  let longestCpuMs = 0;
  for (let calls = 1; ; calls++) {
    const began = performance.now();
    const usage = process.cpuUsage();
    const rows = await step();
    longestMs = Math.max(longestMs, performance.now() - began);
    const { user, system } = process.cpuUsage(usage);
    longestCpuMs = Math.max(longestCpuMs, (user + system) / 1000);
    if (rows < LIMIT) return { calls, longestMs, longestCpuMs };
  }
}

export const SWEEP_HEAD = ["beside", "seconds", "longest turn ms", "longest read ms", "longest stream gap ms"];

export function sweepRows(results: readonly ExpiryResult[]): string[][] {
  return results.map(({ label, ...times }) => {
    const { seconds, longestTurnMs, longestReadMs, longestGapMs } = times;
    return [label, ...[seconds, longestTurnMs, longestReadMs, longestGapMs].map(figure)];
  });
}

export const STEPS_HEAD = ["step", "calls", "longest ms", "most CPU ms"];

export function stepRows(steps: readonly Step[]): string[][] {
  return steps.map(({ label, calls, longestMs, longestCpuMs }) => [
    label,
    String(calls),
    figure(longestMs),
    figure(longestCpuMs),
  ]);
}
