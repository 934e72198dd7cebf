import { expect, test } from "vitest";
import { type MemoryTables, memoryTables } from "../memory-tables.ts";
import { newResponse } from "./answer-rows.ts";

const ID = "resp_a";
const OWNER = "local";
const END = { id: ID, owner: OWNER, status: "completed", object: "{}", output: [], said: null, events: [] } as const;

/** A queued response whose events are kept. */
function queued(): MemoryTables {
  const all = memoryTables();
  const { row } = newResponse(ID);
  const open = { ...row, status: "queued", background: 1 } as const;
  expect(all.responses.writes.keep(newResponse(ID, null, { row: open, output: [], stream: { sealed: 0 } }))).toBe(
    "kept",
  );
  return all;
}

const rowsOf = ({ responseStreams }: MemoryTables, after = -1) =>
  responseStreams.reads.read({ owner: OWNER, id: ID, after })?.rows;
const bytes = ({ db }: MemoryTables) =>
  db.prepare("SELECT r.bytes, s.bytes AS stored FROM responses r JOIN storage s ON s.owner = r.owner").get() as object;

test("rows have the numbers of their first events, and a run that begins again goes on after them", () => {
  const all = queued();
  const { beginRun, say } = all.responseStreams.writes;
  expect(rowsOf(all)).toEqual([]);
  const before = bytes(all);
  expect([
    beginRun({ id: ID }),
    say({ id: ID, said: "[1]", events: 3 }),
    say({ id: ID, said: "[2]", events: 1 }),
  ]).toEqual([true, true, true]);
  expect(rowsOf(all)).toEqual([
    { number: 2, said: null },
    { number: 3, said: "[1]" },
    { number: 6, said: "[2]" },
  ]);
  expect(rowsOf(all, 3)).toEqual([{ number: 6, said: "[2]" }]);
  expect(bytes(all)).not.toEqual(before);
  beginRun({ id: ID });
  expect(rowsOf(all)).toEqual([{ number: 7, said: null }]);
  expect(bytes(all)).toEqual(before);
});

test.each<[string, (all: MemoryTables) => unknown]>([
  ["completed", ({ background }) => background.writes.answered({ ...END, said: { said: "[9]", events: 1 } })],
  ["cancelled", ({ background }) => background.writes.unanswered({ ...END, status: "cancelled", error: null })],
  ["removed", ({ responses }) => responses.writes.remove({ owner: OWNER, id: ID, now: 1, limit: 0 })],
])("a response that is %s takes no further outputs", (status, end) => {
  const all = queued();
  all.responseStreams.writes.beginRun({ id: ID });
  expect(end(all)).toBeTruthy();
  const rows = rowsOf(all);
  expect(rows?.at(-1)).toEqual(
    { completed: { number: 3, said: "[9]" }, cancelled: { number: 2, said: null }, removed: undefined }[status],
  );
  expect(all.responseStreams.writes.say({ id: ID, said: "[1]", events: 1 })).toBe(false);
  expect(all.responseStreams.writes.beginRun({ id: ID })).toBe(false);
  expect(rowsOf(all)).toEqual(rows);
});

test("a removed response leaves no event, a few rows at a time", () => {
  const all = queued();
  all.responseStreams.writes.beginRun({ id: ID });
  for (let i = 0; i < 5; i++) all.responseStreams.writes.say({ id: ID, said: "[1]", events: 1 });
  all.responses.writes.remove({ owner: OWNER, id: ID, now: 1, limit: 2 });
  const count = () =>
    all.db
      .prepare("SELECT (SELECT count(*) FROM response_events) AS events, (SELECT count(*) FROM responses) AS responses")
      .get();
  expect(count()).toMatchObject({ responses: 1 });
  while (all.responses.writes.collect({ limit: 2 }) > 0);
  expect(count()).toEqual({ events: 0, responses: 0 });
  expect(all.db.prepare("SELECT count(*) AS streams FROM response_streams").get()).toEqual({ streams: 0 });
});
