import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import Database from "better-sqlite3";
import { expect, onTestFinished, test } from "vitest";
import { migrate } from "../../store/thread/migrate.ts";
import { fileRow } from "../unit/store/rows.ts";
import { freshFolder, testStore } from "../unit/store/test-store.ts";

/** A process with the built store, or a part of it, that prints a line and then waits to be killed. */
async function processThat(script: string): Promise<ChildProcess> {
  const child = spawn(process.execPath, ["--input-type=module", "--eval", script], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let err = "";
  child.stderr.on("data", (chunk: Buffer) => {
    err += chunk.toString();
  });
  const [said] = await Promise.race([once(child.stdout, "data"), once(child, "close")]);
  if (!Buffer.isBuffer(said)) throw new Error(`It ended without a word:\n${err}`);
  return child;
}

const built = (file: string) => JSON.stringify(fileURLToPath(new URL(`../../dist/store/${file}`, import.meta.url)));

test("a second process is refused until the first is killed, and finds all its rows", async () => {
  const folder = freshFolder();
  const first = await processThat(`
    const { openStore } = await import(${built("store.js")});
    const store = await openStore({ dataDir: ${JSON.stringify(folder)}, log: { info() {}, error() {} } });
    await store.files.insert({ row: ${JSON.stringify(fileRow("file-1"))}, quotaBytes: null, maxFiles: 10_000 });
    console.log("open");
    setInterval(() => {}, 1000);`);
  const refused = testStore(folder);
  await expect(refused).rejects.toMatchObject({ code: "locked" });
  await expect(refused).rejects.toThrow(/Another Nightshift server uses the data directory/);

  const gone = once(first, "exit");
  first.kill("SIGKILL");
  await gone;
  const store = await testStore(folder);
  expect(await store.files.get({ owner: "local", id: "file-1" })).toEqual(fileRow("file-1"));
});

const FIRST = "CREATE TABLE a (x INTEGER); INSERT INTO a VALUES (1);";
const SECOND = "CREATE TABLE b (y INTEGER); INSERT INTO b SELECT x FROM a; DROP TABLE a;";

test("a killed migration leaves the version before, and the next start completes it", async () => {
  const path = `${freshFolder()}/nightshift.db`;
  const migrating = await processThat(`
    import { createRequire } from "node:module";
    const Database = createRequire(${built("thread/migrate.js")})("better-sqlite3");
    const { migrate } = await import(${built("thread/migrate.js")});
    const db = new Database(${JSON.stringify(path)});
    db.pragma("journal_mode = WAL");
    migrate(db, [${JSON.stringify(FIRST)}]);
    db.function("wait_for_the_end", () => {
      // Synchronous, or the line would wait for the end of this call.
      process.stdout._handle?.setBlocking?.(true);
      process.stdout.write("half way\\n");
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    });
    migrate(db, [${JSON.stringify(FIRST)}, ${JSON.stringify(`${SECOND} SELECT wait_for_the_end();`)}]);`);
  const gone = once(migrating, "exit");
  migrating.kill("SIGKILL");
  await gone;

  const db = new Database(path);
  onTestFinished(() => void db.close());
  expect(db.pragma("user_version", { simple: true })).toBe(1);
  expect(db.prepare("SELECT x FROM a").pluck().all()).toEqual([1]);
  migrate(db, [FIRST, SECOND]);
  expect(db.pragma("user_version", { simple: true })).toBe(2);
  expect(db.prepare("SELECT y FROM b").pluck().all()).toEqual([1]);
});

test("a migration that fails changes nothing", () => {
  const db = new Database(":memory:");
  migrate(db, [FIRST]);
  expect(() => migrate(db, [FIRST, "DROP TABLE a; CREATE TABLE sqlite_no (z);"])).toThrow(/reserved/);
  expect(db.pragma("user_version", { simple: true })).toBe(1);
  expect(db.prepare("SELECT x FROM a").pluck().all()).toEqual([1]);
  db.close();
});
