import Database from "better-sqlite3";
import { expect, it } from "vitest";
import { GroupWriter, type WriteJob } from "../../../store/group-writer.ts";

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
