import Database from "better-sqlite3";
import { expect, it } from "vitest";
import { GroupWriter, type WriteJob } from "../../../store/thread/group-writer.ts";

const SYNCED = 2;

/** Runs what waits until all is done; for each transaction, the jobs in it and whether it was synced. */
function transactions(...durable: boolean[]): string[] {
  const db = new Database(":memory:");
  const writer = new GroupWriter(db, () => 0);
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
  const told: string[] = [];
  while (waiting.length > 0) {
    names = "";
    writer.runSome(waiting, 1);
    told.push(`${names} ${db.pragma("synchronous", { simple: true }) === SYNCED ? "synced" : "not synced"}`);
  }
  db.close();
  return told;
}

it("takes along to the disk what need not go there, when it came behind what must", () => {
  expect(transactions(true, false, true, false)).toEqual(["0123 synced"]);
});

it("never lets what must go to the disk go with what need not", () => {
  expect(transactions(false, false, true, false)).toEqual(["01 not synced", "23 synced"]);
});

it("on a full disk lets those that fit go without the one that does not", () => {
  const db = new Database(":memory:");
  db.exec("CREATE TABLE rows (name TEXT, filler BLOB)");
  db.pragma("max_page_count = 20");
  const insert = db.prepare("INSERT INTO rows VALUES (?, zeroblob(?))");
  const told: string[] = [];
  const waiting = [
    { name: "small", bytes: 10 },
    { name: "large", bytes: 1_000_000 },
    { name: "last", bytes: 10 },
  ].map(({ name, bytes }): WriteJob => {
    const run = () => insert.run(name, bytes);
    return {
      durable: true,
      run,
      done: () => told.push(`${name} done`),
      failed: ({ code }) => told.push(`${name} ${code}`),
    };
  });
  const writer = new GroupWriter(db, () => 0);
  const failures: (string | undefined)[] = [];
  while (waiting.length > 0) failures.push(writer.runSome(waiting, 1)?.code);
  expect(told).toEqual(["small done", "large full", "last done"]);
  expect(failures).toEqual([undefined, undefined, "full", undefined]);
  expect(db.prepare("SELECT name FROM rows").pluck().all()).toEqual(["small", "last"]);
  db.close();
});
