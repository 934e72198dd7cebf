import type { SweepTask } from "../../files/expiry-sweeper.ts";
import type { FileStore } from "../../files/file-store.ts";
import type { Store } from "../../store/store.ts";
import type { Expiry } from "../../store/tables/retention.ts";
import type { Options } from "../options/table.ts";

export type RetentionOptions = Pick<Options, "ledgerDays" | "batchDays" | "fileDays" | "keyDays" | "storedDays">;

const DAY_SECONDS = 86_400;
/**
 * Most rows of one operation, and most operations of one sweep; later sweeps remove the rest. A batch has entries in so many
 * indexes that 500 of them took 427 ms, in which every commit waited (docs/decisions/2026-11-22-log-copies.md).
 */
const ROWS = 100;
const STEPS = 1000;

/** The tasks that remove rows after their days of retention; null keeps rows without end. */
export function retentionTasks(
  { ledgerDays, batchDays, fileDays, keyDays, storedDays }: RetentionOptions,
  store: Pick<Store, "retention">,
  files: Pick<FileStore, "unlink">,
): SweepTask[] {
  const { retention } = store;
  const answerDays = storedDays === "off" ? null : storedDays;
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
    ...task("stored responses", answerDays, (expiry) => retention.removeResponses(expiry)),
    ...task("stored chat completions", answerDays, (expiry) => retention.removeCompletions(expiry)),
    ...task("API keys", keyDays, (expiry) => retention.removeKeys(expiry)),
  ];
}

/** The tasks that remove, at any age, what deleted answers have left: their deletion itself removes a bounded number of rows. */
export function removedAnswerTasks({
  responses,
  conversations,
  completions,
}: Pick<Store, "responses" | "conversations" | "completions">): SweepTask[] {
  const task = (name: string, remove: (expiry: Expiry) => Promise<number>): SweepTask => {
    return { name, run: (now) => inSteps(now - DAY_SECONDS, remove) };
  };
  return [
    task("items of removed responses", ({ limit }) => responses.collect({ limit })),
    task("items of removed conversations", ({ limit }) => conversations.collect({ limit })),
    // For a day the id of a removed completion can still be the `after` of a list.
    task("places of removed completions", (expiry) => completions.forgetRemoved(expiry)),
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
