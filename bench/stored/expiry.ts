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
  /** From the first removed answer to the last. */
  seconds: number;
  /** Bucket bound that no turn of the server's event loop exceeded during the removal. */
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
}

const TABLES = ["completions", "responses", "response_items"];
const POLL_MS = 100;
/** Rows of one step of the sweeper, as in server/composition/retention-tasks.ts. */
const LIMIT = 100;

/** Waits for the server's sweeper to remove every answer, beside reads and a chat stream. */
export async function measureSweep(target: Target, { dataDir }: OwnServer): Promise<ExpiryResult> {
  const db = new Database(join(dataDir, "nightshift.db"), { readonly: true });
  const counts = TABLES.map((table) => db.prepare<[], number>(`SELECT count(*) FROM ${table}`).pluck());
  const left = () => counts.reduce((sum, count) => sum + count.get()!, 0);
  const whole = left();
  const reached = async (wanted: (rows: number) => boolean) => {
    while (!wanted(left())) await wait(POLL_MS);
  };
  const chats = new Chats(target);
  const result = await chats.during(async () => {
    await reached((rows) => rows < whole);
    const before = await readLoopDelays(target);
    const began = performance.now();
    let longestReadMs = 0;
    const state = { over: false };
    const reads = async () => {
      while (!state.over) {
        const sentAt = performance.now();
        await get(target, "chat/completions?limit=1");
        longestReadMs = Math.max(longestReadMs, performance.now() - sentAt);
      }
    };
    const reading = reads();
    await reached((rows) => rows === 0);
    const seconds = (performance.now() - began) / 1000;
    state.over = true;
    await reading;
    const longestTurnMs = longestDelayMs(before, await readLoopDelays(target));
    return { seconds, longestTurnMs, longestReadMs, longestGapMs: await chats.longestGap(began) };
  });
  db.close();
  return result;
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
  for (let calls = 1; ; calls++) {
    const began = performance.now();
    const rows = await step();
    longestMs = Math.max(longestMs, performance.now() - began);
    if (rows < LIMIT) return { calls, longestMs };
  }
}

export const SWEEP_HEAD = ["removal", "seconds", "longest turn ms", "longest read ms", "longest stream gap ms"];

export function sweepRow({ seconds, longestTurnMs, longestReadMs, longestGapMs }: ExpiryResult): string[] {
  return ["by the sweeper", ...[seconds, longestTurnMs, longestReadMs, longestGapMs].map(figure)];
}

export const STEPS_HEAD = ["step", "calls", "longest ms"];

export function stepRows(steps: readonly Step[]): string[][] {
  return steps.map(({ label, calls, longestMs }) => [label, String(calls), figure(longestMs)]);
}
