import Database from "better-sqlite3";
import { expect, it } from "vitest";
import { GroupCommit, type WriteJob } from "../../../store/thread/group-commit.ts";

const SYNCED = 2;

/** Runs queued jobs until none is left. Returns each transaction's jobs and whether it was synced. */
function transactions(...durable: boolean[]): string[] {
  const db = new Database(":memory:");
  const writer = new GroupCommit(db, () => 0);
  let names = "";
  const waiting: WriteJob[] = durable.map((isDurable, index) => ({
    durable: isDurable,
    run: () => {
      names += index;
    },
    done: () => {},
    failed: (error) => {
      throw error;
    },
  }));
  const outcomes: string[] = [];
  while (waiting.length > 0) {
    names = "";
    writer.runSome(waiting, 1);
    outcomes.push(`${names} ${db.pragma("synchronous", { simple: true }) === SYNCED ? "synced" : "not synced"}`);
  }
  db.close();
  return outcomes;
}

it("writes that need no fsync join a durable group that began before them", () => {
  expect(transactions(true, false, true, false)).toEqual(["0123 synced"]);
});

it("a durable write never joins a group without fsync", () => {
  expect(transactions(false, false, true, false)).toEqual(["01 not synced", "23 synced"]);
});

it("on a full disk writes are retried one by one, and those that fit succeed", () => {
  const db = new Database(":memory:");
  db.exec("CREATE TABLE rows (name TEXT, filler BLOB)");
  db.pragma("max_page_count = 20");
  const insert = db.prepare("INSERT INTO rows VALUES (?, zeroblob(?))");
  const outcomes: string[] = [];
  const waiting = [
    { name: "small", bytes: 10 },
    { name: "large", bytes: 1_000_000 },
    { name: "last", bytes: 10 },
  ].map(({ name, bytes }): WriteJob => {
    const run = () => insert.run(name, bytes);
    return {
      durable: true,
      run,
      done: () => outcomes.push(`${name} done`),
      failed: ({ code }) => outcomes.push(`${name} ${code}`),
    };
  });
  const writer = new GroupCommit(db, () => 0);
  const failures: (string | undefined)[] = [];
  while (waiting.length > 0) failures.push(writer.runSome(waiting, 1)?.code);
  expect(outcomes).toEqual(["small done", "large full", "last done"]);
  expect(failures).toEqual([undefined, undefined, "full", undefined]);
  expect(db.prepare("SELECT name FROM rows").pluck().all()).toEqual(["small", "last"]);
  db.close();
});
