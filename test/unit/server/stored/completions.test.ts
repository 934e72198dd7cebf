import { expect, test } from "vitest";
import { AnswerBounds } from "../../../../server/stored/answer-bounds.ts";
import { StoredCompletions } from "../../../../server/stored/completions.ts";
import { VISITED } from "../../../../store/tables/answers/completions.ts";
import { newCompletion } from "../../store/answers/answer-rows.ts";
import { testStore } from "../../store/test-store.ts";

const ROWS = 3 * VISITED;
/** Rows with both pairs; of the others each has one, so that each pair has more entries than a read visits. */
const FITTING = [0, 11, VISITED, 2 * VISITED + 1, ROWS - 1];

test("a list by two pairs is complete however many completions with one of them lie between", async () => {
  const store = await testStore();
  const bounds = new AnswerBounds({ store, files: { quota: () => null }, maxStored: ROWS });
  const completions = new StoredCompletions({ store, bounds });
  const pairs = (n: number): Record<string, string> => {
    if (FITTING.includes(n)) return { even: "1", odd: "1" };
    return n % 2 === 0 ? { even: "1" } : { odd: "1" };
  };
  const rows = Array.from({ length: ROWS }, (_, n) => newCompletion(String(n), pairs(n)));
  await Promise.all(rows.map((row) => store.completions.insert(row)));
  const metadata = [
    ["even", "1"],
    ["odd", "1"],
  ] as const;
  const listed = async (changed: { after?: string; limit?: number; order?: "asc" | "desc"; model?: string } = {}) => {
    const usual = { owner: "local", model: null, metadata, after: null, limit: 100, order: "asc" } as const;
    const { completions: found, hasMore } = await completions.list({ ...usual, ...changed });
    return [found.map(({ id }) => Number(id)), hasMore];
  };
  expect(await listed()).toEqual([FITTING, false]);
  expect(await listed({ order: "desc" })).toEqual([FITTING.toReversed(), false]);
  for (const [place, after] of FITTING.entries()) {
    const later = FITTING.slice(place + 1);
    expect(await listed({ after: String(after), limit: 1 })).toEqual([later.slice(0, 1), later.length > 1]);
  }
  expect(await listed({ model: "other" })).toEqual([[], false]);
});
