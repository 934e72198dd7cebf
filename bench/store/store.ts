import { openStore, type Store } from "../../store/store.ts";
import { figure } from "../base/table.ts";
import { DAYS, fillStore, type StorePlan } from "./store-fill.ts";

/** One operation on a full store. */
export interface StoreRun {
  label: string;
  ms: number;
  /** Longest latency of a concurrent small write and small read. */
  writeMs: number;
  readMs: number;
}

const SILENT = { info() {}, error() {} };
const DAY = 86_400;

/** Fills a store and times the operations of a server, each beside small writes and reads. */
export async function measureStore(
  dataDir: string,
  plan: StorePlan,
  onDone: (run: StoreRun) => void,
): Promise<StoreRun[]> {
  await (await openStore({ dataDir, log: SILENT })).close();
  const now = Math.floor(Date.now() / 1000);
  fillStore(dataDir, plan, now);
  const runs: StoreRun[] = [];
  const note = (run: StoreRun) => {
    runs.push(run);
    onDone(run);
  };
  const started = performance.now();
  const store = await openStore({ dataDir, log: SILENT });
  note({ label: "start", ms: performance.now() - started, writeMs: Number.NaN, readMs: Number.NaN });
  for (const [label, operation] of operations(store, now)) note(await beside(store, label, operation));
  await store.close();
  return runs;
}

function operations(store: Store, now: number): [string, () => Promise<unknown>][] {
  const start = now - (now % DAY) - (DAYS - 1) * DAY;
  const month = { start, end: now + 1, width: DAY, kind: null, keyIds: null, models: null, batch: null, limit: 20_001 };
  const groupBy = { owner: true, keyId: true, endpoint: true, model: true, version: true, batch: true, tier: true };
  const minutes = { ...month, start: now - DAY, width: 60, groupBy: { ...groupBy, keyId: false } };
  return [
    ["nothing", async () => {}],
    ["backlog", () => store.batches.backlog()],
    ["batches by status", () => store.batches.counts()],
    ["batches left to clean up", () => store.batches.leftovers({ limit: 100 })],
    ["a month's usage of all owners", () => store.usage.sums({ ...month, owners: null, groupBy })],
    ["a month's usage of one owner", () => store.usage.sums({ ...month, owners: ["owner1"], groupBy })],
    ["a day's usage by minute", () => store.usage.sums({ ...minutes, owners: null })],
    ["100 ledger rows removed", () => store.retention.removeLedgerRows({ before: now, limit: 100 })],
    ["100 batches removed", () => store.retention.removeBatches({ before: now + 1, limit: 100 })],
    ["a result file deleted, with its results", () => removed(store)],
  ];
}

async function removed(store: Store): Promise<void> {
  await store.files.remove({ owner: "owner1", id: "file-out" });
  while ((await store.results.count({ batchId: "batch_1", kind: "output" })) > 0);
}

async function beside(store: Store, label: string, operation: () => Promise<unknown>): Promise<StoreRun> {
  const state = { over: false };
  const longest = async (call: () => Promise<unknown>) => {
    let worst = 0;
    do {
      const from = performance.now();
      await call();
      worst = Math.max(worst, performance.now() - from);
    } while (!state.over);
    return worst;
  };
  const write = longest(() => store.batches.forgetKeys({ before: 0, limit: 1 }));
  const read = longest(() => store.batches.isKeyUsed({ owner: "owner1", key: "none" }));
  const from = performance.now();
  await operation();
  const ms = performance.now() - from;
  state.over = true;
  return { label, ms, writeMs: await write, readMs: await read };
}

export const STORE_HEAD = ["operation", "took ms", "longest write beside ms", "longest read beside ms"];

export function storeRows(runs: readonly StoreRun[]): string[][] {
  const text = (ms: number) => (Number.isNaN(ms) ? "–" : figure(ms));
  return runs.map(({ label, ms, writeMs, readMs }) => [label, text(ms), text(writeMs), text(readMs)]);
}
