import { expect, onTestFinished, test } from "vitest";
import { openCopier, openDatabase } from "../../../store/thread/database.ts";
import { copyLog, logSize, WriteAheadLog } from "../../../store/thread/write-ahead-log.ts";
import { freshFolder } from "./test-store.ts";

const PAGE = 4096;

/** An empty log, and what asks for its copies. */
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
  let asked = 0;
  const log = new WriteAheadLog(writer, () => asked++);
  /** As a commit of so many pages, and what the service does after it. */
  const write = (pages: number, removed = false) => {
    writer.exec(`INSERT INTO written VALUES (zeroblob(${pages * PAGE}))`);
    log.look(removed);
  };
  return { folder, writer, copier, log, write, size: logSize(writer), asked: () => asked };
}

test("a copy is asked for once 16 MiB wait for it, and once at a time", () => {
  const { log, write, copier, size, asked } = openLog();
  write(3000);
  expect(asked()).toBe(0);
  write(1200);
  write(1200);
  expect(asked()).toBe(1);
  expect(copyLog(copier)).toBeGreaterThan(5000);
  expect(size().left).toBe(0);
  log.copied();
  write(100);
  expect(asked()).toBe(1);
});

test("after results were removed a copy is asked for once 4 MiB wait for it, and the next removal is held back", () => {
  const { log, write, copier, asked } = openLog();
  write(1100);
  expect([asked(), log.isCopying]).toEqual([0, false]);
  write(10, true);
  expect([asked(), log.isCopying]).toEqual([1, true]);
  copyLog(copier);
  log.copied();
  expect(log.isCopying).toBe(false);
  write(100, true);
  expect(asked()).toBe(1);
});

test("writes that need not be durable are held back while a long log is copied", () => {
  const { log, write, copier } = openLog();
  write(5000);
  expect(log.isBehind).toBe(false);
  write(4000);
  expect(log.isBehind).toBe(true);
  copyLog(copier);
  log.copied();
  expect(log.isBehind).toBe(false);
});

test("what a backup keeps from being copied is not asked for again and again, and holds nothing back", () => {
  const { folder, log, write, copier, asked } = openLog();
  const reader = openCopier(folder);
  reader.exec("BEGIN; SELECT count(*) FROM files");
  write(9000);
  copyLog(copier);
  log.copied();
  expect(log.left).toBeGreaterThan(8000);
  write(10);
  expect([asked(), log.isBehind]).toEqual([1, false]);
  reader.close();
});

test("a long log of which a copy left a few pages is begun anew by the next write", () => {
  const { log, write, writer, copier, size } = openLog();
  write(9000);
  copyLog(copier);
  // After the answer was sent, say.
  writer.exec("INSERT INTO written VALUES (x'01')");
  expect(size().left).toBeGreaterThan(0);
  log.copied();
  write(1);
  expect(size().pages).toBeLessThan(100);
});
