import fc from "fast-check";
import { expect, test } from "vitest";
import { memoryTables } from "../memory-tables.ts";
import { newResponse } from "./answer-rows.ts";

interface Kept {
  id: string;
  parent: Kept | null;
  live: boolean;
}

function chainOf(response: Kept | null): Kept[] {
  return response === null ? [] : [...chainOf(response.parent), response];
}

/** The model of `responses`: those that are kept for a later one, too. */
class Model {
  readonly all: Kept[] = [];

  get live(): Kept[] {
    return this.all.filter(({ live }) => live);
  }

  get needed(): Set<string> {
    return new Set(this.live.flatMap((response) => chainOf(response).map(({ id }) => id)));
  }
}

const actions = fc.array(fc.tuple(fc.boolean(), fc.nat()), { maxLength: 60 });

test("a chain keeps every item of removed responses until the last one that continues them is removed", () => {
  fc.assert(
    fc.property(actions, (steps) => {
      const { responses, db } = memoryTables();
      const model = new Model();
      for (const [remove, pick] of steps) {
        const { live } = model;
        const chosen = live.length === 0 ? null : live[pick % (live.length + 1)];
        if (remove && chosen) {
          chosen.live = false;
          expect(responses.writes.remove({ owner: "local", id: chosen.id, now: 1, limit: 100 })).toBe(true);
        } else {
          const added = { id: `resp_${model.all.length}`, parent: chosen ?? null, live: true };
          model.all.push(added);
          expect(responses.writes.keep(newResponse(added.id, added.parent?.id))).toBe("kept");
        }
      }
      for (const response of model.live) {
        const { seq, ...row } = responses.reads.get({ owner: "local", id: response.id })!;
        const { rows } = responses.reads.chain({ seq, after: 0, order: "asc", withOutput: true, limit: 1000 });
        const chain = chainOf(response);
        expect(rows.map(({ id }) => id)).toEqual(chain.flatMap(({ id }) => [`${id}-in`, `${id}-out`]));
        expect(row).toMatchObject({ depth: chain.length, chainItems: 2 * chain.length });
        expect(responses.reads.get({ owner: "other", id: response.id })).toBeNull();
      }
      const stored = db.prepare<[], { id: string }>("SELECT id FROM responses").all();
      expect(new Set(stored.map(({ id }) => id))).toEqual(model.needed);
      const findable = responses.reads.items({ owner: "local", ids: model.all.map(({ id }) => `${id}-out`) });
      expect(findable.map(({ id }) => id)).toEqual(model.live.map(({ id }) => `${id}-out`));
      db.close();
    }),
    { numRuns: 60 },
  );
});

test("the storage of an owner is the sum of what it has stored", () => {
  const { responses, conversations, completions, files, db } = memoryTables();
  const sum = () => {
    const of = (table: string) => `SELECT bytes FROM ${table}`;
    const all = ["responses", "conversations", "completions"].map(of).join(" UNION ALL ");
    return db.prepare(`SELECT 0 AS files, count(*) AS answers, coalesce(sum(bytes), 0) AS bytes FROM (${all})`).get();
  };
  const { row: _, parent: __, input, output: ___, ...write } = newResponse("x");
  conversations.writes.create({ ...write, row: { id: "conv_1", metadata: "{}", createdAt: 1 }, items: [] });
  conversations.writes.append({ ...write, id: "conv_1", items: input });
  const kept = newResponse("a");
  responses.writes.keep({ ...kept, row: { ...kept.row, conversation: "conv_1" } });
  responses.writes.keep(newResponse("b", "a"));
  completions.writes.insert({
    ...write,
    row: { id: "c", model: "demo", object: "{}", createdAt: 1 },
    metadata: { long: "x".repeat(500) },
    messages: "[]",
  });
  expect(files.reads.storage("local")).toEqual(sum());
  completions.writes.setMetadata({ owner: "local", id: "c", metadata: { é: "" } });
  conversations.writes.removeItem({ owner: "local", id: "conv_1", item: "a-in" });
  expect(files.reads.storage("local")).toEqual(sum());
  const { bytes } = files.reads.storage("local");
  const bounded = (maxAnswers: number, quotaBytes: number | null) =>
    responses.writes.keep({ ...newResponse("d"), bounds: { maxAnswers, quotaBytes } });
  expect([bounded(4, null), bounded(5, bytes + 1024)]).toEqual(["too_many", "over_quota"]);
  for (const id of ["b", "a"]) responses.writes.remove({ owner: "local", id, now: 1, limit: 1 });
  responses.writes.collect({ limit: 100 });
  conversations.writes.remove({ owner: "local", id: "conv_1", now: 1, limit: 100 });
  completions.writes.remove({ owner: "local", id: "c" });
  expect([files.reads.storage("local"), sum()]).toEqual(
    Array.from({ length: 2 }, () => ({ files: 0, answers: 0, bytes: 0 })),
  );
});

test("a removal takes a bounded number of rows, and the rest is collected later", () => {
  const { responses, db } = memoryTables();
  const count = () => db.prepare("SELECT count(*) FROM response_items").pluck().get();
  const input = Array.from({ length: 20 }, (_, index) => ({ id: `i${index}`, item: "{}" }));
  responses.writes.keep(newResponse("a", null, { input }));
  responses.writes.remove({ owner: "local", id: "a", now: 1, limit: 5 });
  expect([count(), responses.reads.get({ owner: "local", id: "a" })]).toEqual([16, null]);
  expect([10, 10, 10].map((limit) => responses.writes.collect({ limit }))).toEqual([10, 7, 0]);
});

test("input items of a chain are paged in both orders, without the last output", () => {
  const { responses } = memoryTables();
  responses.writes.keep(newResponse("a"));
  responses.writes.keep(newResponse("b", "a"));
  const { seq } = responses.reads.get({ owner: "local", id: "b" })!;
  const page = (order: "asc" | "desc", after: number) => {
    const { rows, more } = responses.reads.chain({ seq, after, order, withOutput: false, limit: 2 });
    return { ids: rows.map(({ id }) => id), last: rows.at(-1)?.seq, more };
  };
  expect(page("asc", 0)).toMatchObject({ ids: ["a-in", "a-out"], more: true });
  expect(page("asc", page("asc", 0).last!)).toMatchObject({ ids: ["b-in"], more: false });
  expect(page("desc", 1e9)).toMatchObject({ ids: ["b-in", "a-out"], more: true });
  expect(responses.reads.place({ seq, owner: "local", id: "a-out" })).toBe(2);
  expect(responses.reads.place({ seq, owner: "other", id: "a-out" })).toBeNull();
});
