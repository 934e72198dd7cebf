import { expect, test } from "vitest";
import type { CompletionList } from "../../../../store/tables/answers/completions.ts";
import { type MemoryTables, memoryTables } from "../memory-tables.ts";
import { newCompletion, newResponse } from "./answer-rows.ts";

function listed({ completions }: MemoryTables, changed: Partial<CompletionList> = {}) {
  const usual = {
    owner: "local",
    model: null,
    metadata: [],
    after: null,
    limit: 10,
    order: "asc",
    from: null,
  } as const;
  const page = completions.reads.list({ ...usual, ...changed });
  return page === "unknown_cursor" ? page : [page.rows.map(({ id }) => id).join(""), page.more];
}

test("completions are listed by model and by all pairs of metadata", () => {
  const tables = memoryTables();
  const { completions } = tables;
  completions.writes.insert(newCompletion("a", { user: "1", job: "x" }));
  completions.writes.insert(newCompletion("b", { user: "1", job: "y" }, { model: "other" }));
  completions.writes.insert(newCompletion("c", { user: "1", job: "x" }, { model: "other" }));
  completions.writes.insert(newCompletion("z", { user: "1" }, { owner: "somebody" }));
  expect(listed(tables, { order: "desc", limit: 2 })).toEqual(["cb", true]);
  expect(listed(tables, { model: "other" })).toEqual(["bc", false]);
  const metadata = [
    ["user", "1"],
    ["job", "x"],
  ] as const;
  expect(listed(tables, { metadata })).toEqual(["ac", false]);
  expect(listed(tables, { metadata, model: "other" })).toEqual(["c", false]);
  completions.writes.setMetadata({ owner: "local", id: "c", metadata: { job: "z" } });
  expect(listed(tables, { metadata })).toEqual(["a", false]);
  expect(listed(tables, { metadata: [["job", "z"]] })).toEqual(["c", false]);
});

test("a removed completion is still a cursor of its owner for a day", () => {
  const tables = memoryTables();
  const { completions } = tables;
  for (const id of ["a", "b", "c"]) completions.writes.insert(newCompletion(id));
  expect(completions.writes.remove({ owner: "other", id: "b" })).toBe(false);
  expect(completions.writes.remove({ owner: "local", id: "b" })).toBe(true);
  expect(listed(tables, { after: "b" })).toEqual(["c", false]);
  expect(listed(tables, { after: "b", owner: "other" })).toBe("unknown_cursor");
  expect(completions.writes.forgetRemoved({ before: 1e12, limit: 10 })).toBe(1);
  expect(listed(tables, { after: "b" })).toBe("unknown_cursor");
});

test("old answers are removed, and a response that a young one continues keeps its items", () => {
  const { retention, responses, completions, db } = memoryTables();
  for (const [id, createdAt] of [["old", 1] as const, ["young", 1000] as const]) {
    completions.writes.insert(newCompletion(id, { a: "b" }, { createdAt }));
  }
  responses.writes.keep(newResponse("old", null, { createdAt: 1 }));
  responses.writes.keep(newResponse("alone", null, { createdAt: 1 }));
  responses.writes.keep(newResponse("young", "old", { createdAt: 1000 }));
  const expiry = { before: 1000, limit: 10 };
  expect([retention.writes.removeCompletions(expiry), retention.writes.removeResponses(expiry)]).toEqual([1, 2]);
  const ids = (table: string) => db.prepare(`SELECT id FROM ${table} ORDER BY id`).pluck().all();
  expect([ids("completions"), ids("responses")]).toEqual([["young"], ["old", "young"]]);
  expect(responses.reads.get({ owner: "local", id: "old" })).toBeNull();
  expect(db.prepare("SELECT count(*) FROM completion_metadata").pluck().get()).toBe(1);
});

test("an erasure leaves no answer, also none of a chain that went on after its request", () => {
  const { erasures, responses, conversations, completions, files, db } = memoryTables();
  const { row: _, parent: __, input, output: ___, ...write } = newResponse("x", null, { owner: "gone" });
  for (const owner of ["gone", "here"]) {
    responses.writes.keep(newResponse(`a-${owner}`, null, { owner }));
    responses.writes.keep(newResponse(`b-${owner}`, `a-${owner}`, { owner, createdAt: 9000 }));
    responses.writes.keep(newResponse(`c-${owner}`, `b-${owner}`, { owner, createdAt: 9000 }));
    const row = { id: `conv-${owner}`, metadata: "{}", createdAt: 1 };
    conversations.writes.create({ ...write, owner, row, items: input });
    for (const id of ["d", "e"]) completions.writes.insert(newCompletion(`${id}-${owner}`, { user: "1" }, { owner }));
    completions.writes.remove({ owner, id: `d-${owner}` });
  }
  const before = files.reads.storage("here");
  const erasure = { owner: "gone", requestedAt: 5000 };
  erasures.writes.begin(erasure);
  while (erasures.writes.removeRows({ ...erasure, now: 6000, limit: 2 }) > 0);
  const tables = ["responses", "response_items", "conversations", "conversation_items", "completions"];
  for (const table of [...tables, "completion_metadata", "removed_completions", "storage"]) {
    expect(db.prepare(`SELECT DISTINCT owner FROM ${table}`).pluck().all(), table).toEqual(["here"]);
  }
  expect(files.reads.storage("here")).toEqual(before);
});
