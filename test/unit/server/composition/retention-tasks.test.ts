import { expect, test } from "vitest";
import { type RetentionOptions, retentionTasks } from "../../../../server/composition/retention-tasks.ts";
import type { Expiry } from "../../../../store/tables/retention.ts";

const DAY = 86_400;
const NOW = 1000 * DAY;
const NEVER: RetentionOptions = {
  ledgerDays: null,
  batchDays: null,
  fileDays: null,
  keyDays: null,
  storedDays: "off",
};

/** Tables with so many old rows each, the calls that they got, and the files whose bytes were removed. */
function retained(rows: number) {
  const asked: [string, number][] = [];
  const unlinked: string[] = [];
  const left = new Map<string, number>();
  const remove = (table: string, { before, limit }: Expiry) => {
    asked.push([table, (NOW - before) / DAY]);
    const removed = Math.min(left.get(table) ?? rows, limit);
    left.set(table, (left.get(table) ?? rows) - removed);
    return removed;
  };
  const retention = {
    removeLedgerRows: async (expiry: Expiry) => remove("ledger", expiry),
    removeBatches: async (expiry: Expiry) => remove("batches", expiry),
    removeFiles: async (expiry: Expiry) => Array.from({ length: remove("files", expiry) }, (_, n) => `file-${n}`),
    removeResponses: async (expiry: Expiry) => remove("responses", expiry),
    removeCompletions: async (expiry: Expiry) => remove("completions", expiry),
    removeKeys: async (expiry: Expiry) => remove("keys", expiry),
  };
  const files = { unlink: async (ids: readonly string[]) => void unlinked.push(...ids) };
  return { asked, unlinked, tasksFor: (options: RetentionOptions) => retentionTasks(options, { retention }, files) };
}

test("rows without a limit of days are kept", () => {
  expect(retained(1).tasksFor(NEVER)).toEqual([]);
});

test.each([
  ["ledgerDays", "ledger rows", "ledger"],
  ["batchDays", "batches", "batches"],
  ["fileDays", "old files", "files"],
  ["keyDays", "API keys", "keys"],
])("%s removes %s alone, of that age", async (option, name, table) => {
  const { asked, unlinked, tasksFor } = retained(3);
  const [task, ...others] = tasksFor({ ...NEVER, [option]: 30 });
  expect([task?.name, others]).toEqual([name, []]);
  expect(await task?.run(NOW)).toBe(3);
  expect(asked).toEqual([[table, 30]]);
  expect(unlinked).toEqual(table === "files" ? ["file-0", "file-1", "file-2"] : []);
});

test("storedDays removes responses and chat completions", async () => {
  const { asked, tasksFor } = retained(3);
  const tasks = tasksFor({ ...NEVER, storedDays: 30 });
  expect(await Promise.all(tasks.map(({ run }) => run(NOW)))).toEqual([3, 3]);
  expect(asked).toEqual([
    ["responses", 30],
    ["completions", 30],
  ]);
});

test("many rows go in operations of 100, and no more than 100,000 of a kind in one sweep", async () => {
  const { asked, tasksFor } = retained(100_250);
  const [task] = tasksFor({ ...NEVER, ledgerDays: 1 });
  expect(await task?.run(NOW)).toBe(100_000);
  expect(asked).toHaveLength(1000);
  expect(await task?.run(NOW)).toBe(250);
  expect(asked).toHaveLength(1003);
});
