import { chmodSync, closeSync, openSync, readFileSync, statSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, onTestFinished, test } from "vitest";
import { MIGRATIONS } from "../../store/schema/migrations.ts";
import { ledgerRow } from "../unit/store/rows.ts";
import { freshFolder, openTestStore, testStore } from "../unit/store/test-store.ts";
import { mountSmallDisk } from "./small-disk.ts";

/** A closed data directory whose database has some pages. */
async function filled(): Promise<{ folder: string; path: string }> {
  const folder = freshFolder();
  const store = await openTestStore(folder);
  await store.ledger.insert({ rows: Array.from({ length: 2000 }, () => ledgerRow()) });
  await store.close();
  return { folder, path: join(folder, "nightshift.db") };
}

test("a corrupt page ends the start with advice, and the file stays unchanged", async () => {
  const { folder, path } = await filled();
  const file = openSync(path, "r+");
  const pages = Math.floor(statSync(path).size / 4096);
  for (let page = Math.floor(pages / 2); page < pages; page++)
    writeSync(file, Buffer.alloc(64, 0xa5), 0, 64, page * 4096);
  closeSync(file);
  const before = readFileSync(path);
  const refused = testStore(folder);
  await expect(refused).rejects.toMatchObject({ code: "corrupt", retryable: false });
  await expect(refused).rejects.toThrow(`${path} is damaged`);
  await expect(refused).rejects.toThrow(/backup.*\.recover/);
  expect(readFileSync(path).equals(before)).toBe(true);
});

test("damage of a large database, found beside its use, turns /ready 503 with advice", async () => {
  const { folder, path } = await filled();
  const db = new Database(path);
  db.exec("REPLACE INTO probe VALUES (1, zeroblob(70000000))");
  const page = Number(db.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'ledger_by_time'").pluck().get());
  db.close();
  const file = openSync(path, "r+");
  writeSync(file, Buffer.alloc(64, 0xa5), 0, 64, (page - 1) * 4096);
  closeSync(file);
  const store = await testStore(folder);
  await expect.poll(() => store.state).toMatchObject({ writable: false, code: "corrupt" });
  expect(store.state).toMatchObject({ reason: expect.stringMatching(/is damaged: .*backup.*\.recover/s) });
  expect(store.state).toMatchObject({ reason: expect.stringContaining(path) });
});

test("a file that is no database is refused and stays unchanged", async () => {
  const folder = freshFolder();
  const path = join(folder, "nightshift.db");
  writeFileSync(path, "not a database\n".repeat(1000));
  await expect(testStore(folder)).rejects.toMatchObject({ code: "corrupt" });
  expect(readFileSync(path, "utf8")).toMatch(/^not a database/);
});

test("a database of a newer version is refused with advice and stays unchanged", async () => {
  const { folder, path } = await filled();
  const db = new Database(path);
  db.pragma("user_version = 999");
  db.close();
  const refused = testStore(folder);
  await expect(refused).rejects.toMatchObject({ code: "newer", retryable: false });
  await expect(refused).rejects.toThrow(`${path} was written by a newer version of Nightshift (schema 999`);
  const after = new Database(path, { readonly: true });
  expect(after.pragma("user_version", { simple: true })).toBe(999);
  expect(after.prepare("SELECT count(*) FROM ledger").pluck().get()).toBe(2000);
  after.close();
});

test("a refused store releases the data directory", async () => {
  const { folder, path } = await filled();
  const set = (version: number) => {
    const db = new Database(path);
    db.pragma(`user_version = ${version}`);
    db.close();
  };
  set(999);
  await expect(testStore(folder)).rejects.toMatchObject({ code: "newer" });
  set(MIGRATIONS.length);
  await testStore(folder);
});

test("a data directory that cannot be written is refused with its path and advice", async ({ skip }) => {
  const folder = readOnlyFolder();
  if (folder === null) return skip("neither a read-only mount nor file permissions bind this user");
  const refused = testStore(folder);
  await expect(refused).rejects.toMatchObject({ code: "io" });
  await expect(refused).rejects.toThrow(`${folder} cannot be used`);
  await expect(refused).rejects.toThrow(/--data-dir/);
});

/** Permissions do not apply to root, a read-only file system does. */
function readOnlyFolder(): string | null {
  const disk = mountSmallDisk(1024 * 1024, ",ro");
  if (disk !== null) {
    onTestFinished(() => disk.unmount());
    return disk.path;
  }
  if (process.getuid?.() === 0) return null;
  const folder = freshFolder();
  chmodSync(folder, 0o500);
  onTestFinished(() => chmodSync(folder, 0o700));
  return folder;
}
