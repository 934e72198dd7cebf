import { statSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { openCopier, openDatabase } from "../../../store/thread/database.ts";
import { LogTruncation } from "../../../store/thread/log-truncation.ts";
import { copyLog, logSize } from "../../../store/thread/write-ahead-log.ts";
import { fileRow } from "./rows.ts";
import { freshFolder, testStore } from "./test-store.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

/** A non-empty log, and the calls of its scrubber to the database. */
function scrubbed() {
  const folder = freshFolder();
  const { writer, close } = openDatabase(folder);
  onTestFinished(close);
  const asked: string[] = [];
  const recording = new Proxy(writer, {
    get(target, name) {
      if (name !== "pragma") return Reflect.get(target, name);
      return (text: string, options: Database.PragmaOptions) => {
        asked.push(text);
        return target.pragma(text, options);
      };
    },
  });
  const write = () => void writer.exec("REPLACE INTO probe VALUES (1, zeroblob(10000))");
  writer.pragma("wal_checkpoint(TRUNCATE)");
  write();
  const logBytes = () => statSync(join(folder, "nightshift.db-wal")).size;
  const size = logSize(writer);
  const copier = openCopier(folder);
  onTestFinished(() => void copier.close());
  let copies = 0;
  const log = {
    get left() {
      return size().left;
    },
    requestCopy() {
      copies++;
      copyLog(copier);
    },
  };
  const scrubber = new LogTruncation(recording, log);
  return { folder, writer, scrubber, asked, write, logBytes, size, copies: () => copies };
}

test("the first deletion sets the time of the truncation, later ones do not move it", () => {
  const { scrubber, write, logBytes } = scrubbed();
  scrubber.schedule();
  vi.advanceTimersByTime(900);
  write();
  scrubber.schedule();
  expect(logBytes()).toBeGreaterThan(0);
  vi.advanceTimersByTime(100);
  expect(logBytes()).toBe(0);
});

test("a log with a reader is retried after growing delays and truncated once the reader ends", () => {
  const { folder, scrubber, asked, write, logBytes } = scrubbed();
  const reader = new Database(join(folder, "nightshift.db"), { readonly: true });
  reader.exec("BEGIN; SELECT count(*) FROM files");
  write();
  scrubber.schedule();
  vi.advanceTimersByTime(1000);
  expect(asked).toEqual(["busy_timeout", "busy_timeout = 0", "wal_checkpoint(TRUNCATE)", "busy_timeout = 2000"]);
  vi.advanceTimersByTime(120_000);
  // Retries after 1 s, then 0.1, 0.3, 0.7, 1.5, 3.1, 6.3, 12.7, 25.5, 51.1, 81.1 and 111.1 s later.
  expect(asked.filter((text) => text.startsWith("wal_checkpoint"))).toHaveLength(12);
  expect(logBytes()).toBeGreaterThan(0);
  reader.close();
  vi.advanceTimersByTime(30_000);
  expect(logBytes()).toBe(0);
});

test("a long log is copied by the other connection before its truncation", () => {
  const { writer, scrubber, asked, logBytes, size, copies } = scrubbed();
  writer.exec("REPLACE INTO probe VALUES (1, zeroblob(1000000))");
  expect(size().left).toBeGreaterThan(200);
  scrubber.schedule();
  vi.advanceTimersByTime(1000);
  expect([copies(), size().left, asked]).toEqual([1, 0, []]);
  vi.advanceTimersByTime(100);
  expect(logBytes()).toBe(0);
  expect(copies()).toBe(1);
});

test("a deletion without rows does not truncate the log", async () => {
  const folder = freshFolder();
  const store = await testStore(folder);
  const logBytes = () => statSync(join(folder, "nightshift.db-wal")).size;
  /** The log's bytes after all truncations that are due. */
  const later = () => {
    vi.advanceTimersByTime(1000);
    return logBytes();
  };
  await store.files.insert({ row: fileRow("file-1"), quotaBytes: null, maxFiles: 10_000 });
  // A start truncates the log.
  await expect.poll(later).toBe(0);
  await store.files.insert({ row: fileRow("file-2"), quotaBytes: null, maxFiles: 10_000 });
  await store.files.remove({ owner: "local", id: "file-none" });
  await store.files.removeExpired({ now: 5000, limit: 10 });
  await store.results.remove({ batchId: "batch_none", limit: 10 });
  expect(later()).toBeGreaterThan(0);
  await store.files.remove({ owner: "local", id: "file-1" });
  await expect.poll(later).toBe(0);
});
