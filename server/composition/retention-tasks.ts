import type { SweepTask } from "../../files/expiry-sweeper.ts";
import type { FileStore } from "../../files/file-store.ts";
import type { Store } from "../../store/store.ts";
import type { Expiry } from "../../store/tables/retention.ts";
import type { Options } from "../options/table.ts";

export type RetentionOptions = Pick<Options, "ledgerDays" | "batchDays" | "fileDays" | "keyDays">;

const DAY_SECONDS = 86_400;
/**
 * Most rows of one operation, and most operations of one sweep; later sweeps remove the rest. A batch has entries in so many
 * indexes that 500 of them took 427 ms, in which every commit waited (docs/decisions/2026-11-22-log-copies.md).
 */
const ROWS = 100;
const STEPS = 1000;

/** The tasks that remove rows after their days of retention; null keeps rows without end. */
export function retentionTasks(
  { ledgerDays, batchDays, fileDays, keyDays }: RetentionOptions,
  store: Pick<Store, "retention">,
  files: Pick<FileStore, "unlink">,
): SweepTask[] {
  const { retention } = store;
  const task = (name: string, days: number | null, remove: (expiry: Expiry) => Promise<number>): SweepTask[] =>
    days === null ? [] : [{ name, run: (now) => inSteps(now - days * DAY_SECONDS, remove) }];
  return [
    ...task("ledger rows", ledgerDays, (expiry) => retention.removeLedgerRows(expiry)),
    ...task("batches", batchDays, (expiry) => retention.removeBatches(expiry)),
    ...task("old files", fileDays, async (expiry) => {
      const ids = await retention.removeFiles(expiry);
      await files.unlink(ids);
      return ids.length;
    }),
    ...task("API keys", keyDays, (expiry) => retention.removeKeys(expiry)),
  ];
}

async function inSteps(before: number, remove: (expiry: Expiry) => Promise<number>): Promise<number> {
  let removed = 0;
  for (let step = 0; step < STEPS; step++) {
    const rows = await remove({ before, limit: ROWS });
    removed += rows;
    if (rows < ROWS) break;
  }
  return removed;
}
