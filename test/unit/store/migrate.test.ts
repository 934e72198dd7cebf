import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { MIGRATIONS } from "../../../store/schema/migrations.ts";
import { migrate } from "../../../store/thread/migrate.ts";

test("version 3 keeps the lines and results of a batch in progress", () => {
  const db = new Database(":memory:");
  db.pragma("foreign_keys = ON");
  migrate(db, MIGRATIONS.slice(0, 2));
  db.exec(`
    INSERT INTO batches (id, owner, endpoint, input_file_id, completion_window, status, created_at, expires_at)
      VALUES ('b', 'local', '/v1/chat/completions', 'file-in', '24h', 'in_progress', 1000, 87400);
    INSERT INTO lines VALUES ('b', 1, 'x', 0, 99, 2, 10, 'done', 1, 0, 0, 0, 0),
      ('b', 3, 'y', 100, 98, 1, 20, 'pending', 2, 5000, 7, 1, 2);
    INSERT INTO results VALUES ('b', 1, 'output', 'req_1', 200, '{}');`);
  const content = () => ["lines", "results"].map((table) => db.prepare(`SELECT * FROM ${table}`).all());
  const indexes = () => db.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND sql NOT NULL").all();
  const before = { content: content(), indexes: new Set(indexes()) };

  migrate(db, MIGRATIONS.slice(0, 3));
  expect({ content: content(), indexes: new Set(indexes()) }).toEqual(before);
  expect(db.pragma("foreign_key_check")).toEqual([]);
  expect(() => db.exec("DELETE FROM lines WHERE number = 1")).toThrow(/FOREIGN KEY/);
});

test("version 5 sums the existing ledger by owner, key and day", () => {
  const db = new Database(":memory:");
  db.pragma("foreign_keys = ON");
  migrate(db, MIGRATIONS.slice(0, 4));
  const insert = db.prepare(
    `INSERT INTO ledger (time, owner, key_id, endpoint, model, version, tier, input_tokens, cached_tokens, output_tokens,
       reasoning_tokens, cost_nano, default_cost_nano)
     VALUES (?, ?, ?, '/v1/completions', 'demo', 'fp', 'default', 1, 0, 1, 0, ?, 0)`,
  );
  insert.run(86_399, "a", null, 1);
  insert.run(86_400, "a", "key_1", 10);
  insert.run(90_000, "a", "key_1", 100);
  insert.run(90_000, "b", "key_2", 1000);
  migrate(db, MIGRATIONS.slice(0, 5));
  expect(db.prepare("SELECT * FROM spending ORDER BY scope, subject, day").all()).toEqual([
    { scope: "key", subject: "key_1", day: 1, nano: 110 },
    { scope: "key", subject: "key_2", day: 1, nano: 1000 },
    { scope: "owner", subject: "a", day: 0, nano: 1 },
    { scope: "owner", subject: "a", day: 1, nano: 110 },
    { scope: "owner", subject: "b", day: 1, nano: 1000 },
  ]);
});

test("versions 7 and 8 count existing batches and sum the existing ledger by hour", () => {
  const db = new Database(":memory:");
  db.pragma("foreign_keys = ON");
  migrate(db, MIGRATIONS.slice(0, 6));
  const batch = db.prepare(
    `INSERT INTO batches (id, owner, endpoint, input_file_id, completion_window, status, created_at, expires_at)
     VALUES (?, 'local', '/v1/chat/completions', 'file-in', '24h', ?, 1000, 87400)`,
  );
  for (const [id, status] of ["completed", "failed", "completed"].entries()) batch.run(`b${id}`, status);
  const row = db.prepare(
    `INSERT INTO ledger (time, owner, key_id, endpoint, model, version, tier, input_tokens, cached_tokens, output_tokens,
       reasoning_tokens, cost_nano, default_cost_nano)
     VALUES (?, 'a', ?, '/v1/completions', 'demo', 'fp', 'default', 10, 1, 2, 0, 5, 7)`,
  );
  for (const [time, key] of [
    [3599, null],
    [3600, null],
    [7199, null],
    [7199, "key_1"],
  ] as const)
    row.run(time, key);
  migrate(db, MIGRATIONS);
  const counts = () => db.prepare("SELECT status, count FROM batch_counts WHERE count > 0 ORDER BY status").all();
  expect(counts()).toEqual([
    { status: "completed", count: 2 },
    { status: "failed", count: 1 },
  ]);
  batch.run("b3", "in_progress");
  db.exec("UPDATE batches SET status = 'cancelling' WHERE id = 'b3'; DELETE FROM batches WHERE id = 'b1'");
  expect(counts()).toEqual([
    { status: "cancelling", count: 1 },
    { status: "completed", count: 2 },
  ]);
  const hours =
    "SELECT hour, key_id AS key, requests, input_tokens AS input, cost_nano AS cost FROM usage_hours ORDER BY 1, 2";
  expect(db.prepare(hours).all()).toEqual([
    { hour: 0, key: "", requests: 1, input: 10, cost: 5 },
    { hour: 3600, key: "", requests: 2, input: 20, cost: 10 },
    { hour: 3600, key: "key_1", requests: 1, input: 10, cost: 5 },
  ]);
});

test("version 16 keeps the sums by hour, with the version of the rows that are left", () => {
  const db = new Database(":memory:");
  db.pragma("foreign_keys = ON");
  migrate(db, MIGRATIONS.slice(0, 15));
  const row = db.prepare(
    `INSERT INTO ledger (time, owner, key_id, endpoint, model, version, tier, input_tokens, cached_tokens, output_tokens,
       reasoning_tokens, cost_nano, default_cost_nano)
     VALUES (?, 'a', ?, '/v1/completions', 'demo', ?, 'default', 10, 1, 2, 0, 5, 7)`,
  );
  row.run(3600, null, "fp_new");
  row.run(3601, null, "fp_new");
  row.run(3602, null, "fp_old");
  row.run(7200, "key_1", "fp_new");
  // Of the hour 0 and of the first two rows of the next one, retention has left the sums alone.
  const sum = db.prepare(
    `INSERT INTO usage_hours VALUES ('a', ?, ?, '/v1/completions', 'demo', 'default', 0, ?, ?, 1, 2, 0, ?, 7)`,
  );
  sum.run(0, "key_1", 3, 30, 9_007_199_254_740_993n);
  sum.run(3600, "", 5, 50, 25);
  sum.run(7200, "key_1", 1, 10, 5);
  migrate(db, MIGRATIONS.slice(0, 16));
  const hours = db.prepare(
    "SELECT hour, key_id, version, estimated, requests, input_tokens, cost_nano FROM usage_hours ORDER BY 1, 2, 3",
  );
  expect(hours.safeIntegers().raw().all()).toEqual([
    [0n, "key_1", "", 0n, 3n, 30n, 9_007_199_254_740_993n],
    [3600n, "", "", 0n, 2n, 20n, 10n],
    [3600n, "", "fp_new", 0n, 2n, 20n, 10n],
    [3600n, "", "fp_old", 0n, 1n, 10n, 5n],
    [7200n, "key_1", "fp_new", 0n, 1n, 10n, 5n],
  ]);
  expect(db.prepare("SELECT DISTINCT estimated FROM ledger").pluck().all()).toEqual([0]);
});
