import { expect, onTestFinished, test } from "vitest";
import { openCopier, openDatabase } from "../../../store/thread/database.ts";
import { copyLog, logSize, WriteAheadLog } from "../../../store/thread/write-ahead-log.ts";
import { freshFolder } from "./test-store.ts";

const PAGE = 4096;

/** An empty log, and the number of requested copies. */
function openLog() {
  const folder = freshFolder();
  const { writer, close } = openDatabase(folder);
  const copier = openCopier(folder);
  onTestFinished(() => {
    copier.close();
    close();
  });
  writer.exec("CREATE TABLE written (filler BLOB)");
  copyLog(copier);
  let requested = 0;
  const log = new WriteAheadLog(writer, () => requested++);
  /** Commits `pages` pages, as the service does. */
  const write = (pages: number, removed = false) => {
    writer.exec(`INSERT INTO written VALUES (zeroblob(${pages * PAGE}))`);
    log.afterCommit(removed);
  };
  return { folder, writer, copier, log, write, size: logSize(writer), requested: () => requested };
}

test("one copy at a time is requested once 16 MiB are not copied", () => {
  const { log, write, copier, size, requested } = openLog();
  write(3000);
  expect(requested()).toBe(0);
  write(1200);
  write(1200);
  expect(requested()).toBe(1);
  expect(copyLog(copier)).toBeGreaterThan(5000);
  expect(size().left).toBe(0);
  log.copied();
  write(100);
  expect(requested()).toBe(1);
});

test("after removals a copy is requested at 4 MiB, and the next removal is held", () => {
  const { log, write, copier, requested } = openLog();
  write(1100);
  expect([requested(), log.isCopying]).toEqual([0, false]);
  write(10, true);
  expect([requested(), log.isCopying]).toEqual([1, true]);
  copyLog(copier);
  log.copied();
  expect(log.isCopying).toBe(false);
  write(100, true);
  expect(requested()).toBe(1);
});

test("writes that need not be durable are held while a long log is copied", () => {
  const { log, write, copier } = openLog();
  write(5000);
  expect(log.isBehind).toBe(false);
  write(4000);
  expect(log.isBehind).toBe(true);
  copyLog(copier);
  log.copied();
  expect(log.isBehind).toBe(false);
});

test("pages that a backup reads cause no repeated copies and hold no writes", () => {
  const { folder, log, write, copier, requested } = openLog();
  const reader = openCopier(folder);
  reader.exec("BEGIN; SELECT count(*) FROM files");
  write(9000);
  copyLog(copier);
  log.copied();
  expect(log.left).toBeGreaterThan(8000);
  write(10);
  expect([requested(), log.isBehind]).toEqual([1, false]);
  reader.close();
});

test("a long log with a few pages left after a copy restarts at the next write", () => {
  const { log, write, writer, copier, size } = openLog();
  write(9000);
  copyLog(copier);
  // For example after the answer was sent.
  writer.exec("INSERT INTO written VALUES (x'01')");
  expect(size().left).toBeGreaterThan(0);
  log.copied();
  write(1);
  expect(size().pages).toBeLessThan(100);
});
