import { expect, test } from "vitest";
import type { Answered } from "../../../../store/tables/background.ts";
import { memoryTables } from "../memory-tables.ts";
import { item, newResponse } from "./answer-rows.ts";

const OWNER = "local";
const UNBOUNDED = { owner: OWNER, keyId: null, bounds: { quotaBytes: null, maxAnswers: 1000 } };
const END: Answered = {
  id: "resp_a",
  owner: OWNER,
  status: "completed",
  object: "{}",
  output: [item("out")],
  said: null,
  events: [],
};

/** An open response that is to be added to a conversation with one item. */
function openResponse() {
  const all = memoryTables();
  const row = { id: "conv_a", metadata: "{}", createdAt: 1 };
  all.conversations.writes.create({ ...UNBOUNDED, row, items: [item("first")] });
  const { row: ended } = newResponse(END.id);
  const open = { ...ended, status: "in_progress", background: 1, conversation: row.id } as const;
  all.responses.writes.keep(newResponse(END.id, null, { row: open, output: [] }));
  const items = () => all.conversations.reads.items({ owner: OWNER, id: row.id, order: "asc", after: null, limit: 10 });
  const status = () => all.responses.reads.get({ owner: OWNER, id: END.id })?.status;
  return { ...all, items, status, conversation: row.id };
}

test("the end of a response adds its input and output to its conversation, once", () => {
  const { background, items, status } = openResponse();
  expect(background.writes.answered(END)).toBe("answered");
  expect(background.writes.answered(END)).toBe("closed");
  expect(items()).toMatchObject({ rows: [{ id: "first" }, { id: "resp_a-in" }, { id: "out" }] });
  expect(status()).toBe("completed");
});

test("a cancelled response adds nothing to its conversation", () => {
  const { background, items } = openResponse();
  background.writes.unanswered({ id: END.id, status: "cancelled", error: null, events: [] });
  expect(background.writes.answered(END)).toBe("closed");
  expect(items()).toMatchObject({ rows: [{ id: "first" }] });
});

test("a response whose conversation takes no items stays open", () => {
  const { background, status, db, conversations, conversation } = openResponse();
  db.prepare("UPDATE conversations SET items = 9999").run();
  expect(background.writes.answered(END)).toBe("too_many_items");
  conversations.writes.remove({ owner: OWNER, id: conversation, now: 1, limit: 100 });
  expect(background.writes.answered(END)).toBe("absent_conversation");
  expect(status()).toBe("in_progress");
});
