import Database from "better-sqlite3";
import { describe, expect, test } from "vitest";
import { MIGRATIONS } from "../../../store/schema/migrations.ts";
import { tables } from "../../../store/tables/tables.ts";
import { migrate } from "../../../store/thread/migrate.ts";

/**
 * Allowed scans: tables that do not grow with the database's age, namely open rows and rows to be removed (partial indexes), one row per
 * status, per replica or per owner with a budget, the responses of one chain, and SQLite's temporary tables within a statement.
 */
const BOUNDED = [
  /^SCAN lines USING INDEX lines_running$/,
  /^SCAN (responses|conversations) USING (COVERING )?INDEX (responses_unused|conversations_removed)$/,
  /^SCAN keys USING (COVERING )?INDEX keys_(administrators|warned)$/,
  /^SCAN (replica_limits|owners|batch_counts|result_removals|erasures|indexed|chain)\b/,
  /^SCAN (CONSTANT ROW|json_each|\(subquery-\d+\))/,
];

const statements = statementPlans();

test("every statement finds its rows by an index", () => {
  expect(statements.length).toBeGreaterThan(100);
  const unbounded = statements.flatMap(({ sql, plan }) =>
    plan
      .filter((step) => step.startsWith("SCAN") && !BOUNDED.some((known) => known.test(step)))
      .map((step) => [step, sql]),
  );
  expect(unbounded).toEqual([]);
});

describe("statements on open batches read no terminal ones", () => {
  test.each([
    ["the backlog", "FROM batches WHERE status IN .* AND status = 'in_progress'"],
    ["open batches of an owner", "SELECT count\\(\\*\\) AS count FROM batches"],
    ["tokens that a key has enqueued", "settled_tokens\\)\\), 0\\) AS tokens FROM batches"],
    ["open batches of a key", "SELECT id, owner FROM batches"],
  ])("for %s", (_, pattern) => {
    const found = statements.filter(({ sql }) => new RegExp(pattern).test(sql));
    expect(found).toHaveLength(1);
    expect(found[0]?.plan[0]).toMatch(/^SEARCH batches USING INDEX batches_open /);
  });
});

test("surplus uploads are found in order without reading the others", () => {
  const [surplus] = statements.filter(({ sql }) => /DELETE FROM uploads[\s\S]*OFFSET/.test(sql));
  expect(surplus?.plan.join("\n")).toMatch(/SEARCH uploads USING INDEX uploads_over_by_owner \(owner=\?\)/);
  expect(surplus?.plan.join("\n")).not.toContain("TEMP B-TREE FOR ORDER BY");
});

/** Every statement of the store with the steps of its query plan. */
function statementPlans(): { sql: string; plan: string[] }[] {
  const db = new Database(":memory:");
  migrate(db, MIGRATIONS);
  const prepared = new Set<string>();
  const recording = new Proxy(db, {
    get(target, name) {
      if (name !== "prepare") return Reflect.get(target, name);
      return (sql: string) => {
        prepared.add(sql);
        return target.prepare(sql);
      };
    },
  });
  tables(recording);
  const plans = [...prepared].map((sql) => {
    const places = [...sql.matchAll(/\?/g)].map(() => null);
    const names = Object.fromEntries([...sql.matchAll(/@(\w+)/g)].map(([, name]) => [name, null]));
    const steps = db.prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`).all(...places, names);
    return { sql: sql.replace(/\s+/g, " "), plan: steps.map(({ detail }) => detail) };
  });
  db.close();
  return plans;
}
