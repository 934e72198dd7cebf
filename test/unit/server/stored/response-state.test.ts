import { afterAll, beforeAll, expect, test } from "vitest";
import { type StoredAnswers, storedAnswers } from "../../../../server/composition/stored-answers.ts";
import { exportLines } from "../../../../server/stored/export/export-lines.ts";
import type { KeptResponse } from "../../../../server/stored/response-state.ts";
import type { Store } from "../../../../store/store.ts";
import { freshStore } from "../../store/test-store.ts";

const CALLER = { owner: "me", key: null };
const MAX_BODY = 100_000;
const PARTS = { files: { quota: () => null }, time: { now: () => 0, epochMs: () => 5_000_000 } };

let store: Store;
let stored: StoredAnswers;
let end: () => Promise<void>;
beforeAll(async () => {
  ({ store, end } = await freshStore());
  stored = storedAnswers({ maxBody: MAX_BODY, maxStored: 1000 }, store, PARTS);
});
afterAll(() => end());

function response(id: string, changed: Partial<KeptResponse> & Record<string, unknown> = {}): KeptResponse {
  const output = [
    { type: "message", id: `msg_${id}`, role: "assistant", content: [{ type: "output_text", text: id }] },
  ];
  return { id, created_at: 5000, status: "completed", model: "demo", output, metadata: {}, ...changed };
}

const said = (content: string) => ({ role: "user", content });
const texts = (items: readonly object[]) => JSON.stringify(items).match(/(?<="text":")[^"]*/g);
const keep = (object: KeptResponse, content = `to ${object.id}`) =>
  stored.responseState.keep(CALLER, object, [said(content)]);

test("the context of a chain of 50 turns has every item of input and output, oldest first", async () => {
  const { responseState, responses } = stored;
  const ids = Array.from({ length: 50 }, (_, turn) => `resp_${turn}`);
  for (const [turn, id] of ids.entries()) {
    await keep(response(id, turn === 0 ? {} : { previous_response_id: ids[turn - 1]! }));
  }
  const last = { previousResponseId: "resp_49" };
  const context = await responseState.context("me", last);
  expect(texts(context)).toEqual(ids.flatMap((id) => [`to ${id}`, id]));
  await responses.remove("me", "resp_20");
  await expect(responses.get("me", "resp_20")).rejects.toMatchObject({ status: 404 });
  expect(await responseState.context("me", last)).toEqual(context);
  expect(await responses.get("me", "resp_49")).toMatchObject(response("resp_49"));
  const page = await responses.inputItems("me", "resp_49", { order: "desc", after: null, limit: 2 });
  expect(texts(page.rows.map(({ item }) => JSON.parse(item)))).toEqual(["to resp_49", "resp_48"]);
  const next = await responses.inputItems("me", "resp_49", { order: "desc", after: page.rows[1]!.id, limit: 100 });
  expect([next.rows.length, next.hasMore]).toEqual([97, false]);
});

test("a response that is removed while it is read is not continued or answered in part", async () => {
  const removing = async (id: string) => {
    await store.responses.remove({ owner: "me", id, now: 5000, limit: 500 });
  };
  const responses: Store["responses"] = {
    ...store.responses,
    chain: async (read) => {
      const page = await store.responses.chain(read);
      await removing("resp_chained");
      return page;
    },
    output: async (read) => {
      await removing("resp_read");
      return store.responses.output(read);
    },
  };
  const racing = storedAnswers({ maxBody: 10_000_000, maxStored: 1000 }, { ...store, responses }, PARTS);
  const long = Array.from({ length: 3 }, () => said("x".repeat(600_000)));
  await stored.responseState.keep(CALLER, response("resp_chained"), long);
  const absent = { status: 400, code: "previous_response_not_found" };
  const context = racing.responseState.context("me", { previousResponseId: "resp_chained" });
  await expect(context).rejects.toMatchObject(absent);
  await keep(response("resp_read"));
  await expect(racing.responses.get("me", "resp_read")).rejects.toMatchObject({ status: 404 });
});

test("a response is continued by its owner alone, and only when it has ended", async () => {
  const { responseState } = stored;
  await keep(response("resp_own"));
  const absent = { status: 400, code: "previous_response_not_found", param: "previous_response_id" };
  const context = (owner: string, id: string) => responseState.context(owner, { previousResponseId: id });
  await expect(context("me", "resp_none")).rejects.toMatchObject(absent);
  await expect(context("other", "resp_own")).rejects.toMatchObject(absent);
  for (const status of ["failed", "in_progress"] as const) {
    await keep(response(`resp_${status}`, { status, background: true }));
    await expect(context("me", `resp_${status}`)).rejects.toMatchObject({ status: 400, code: "invalid_value" });
  }
  await expect(keep(response("resp_x", { previous_response_id: "resp_none" }))).rejects.toMatchObject(absent);
  await keep(response("resp_long"), "x".repeat(MAX_BODY));
  await expect(context("me", "resp_long")).rejects.toMatchObject({ code: "context_length_exceeded" });
});

test("items are found by id for their owner alone", async () => {
  const { responseState } = stored;
  await keep(response("resp_item"));
  const found = await responseState.items("me", ["msg_resp_item", "msg_resp_item"]);
  expect([...found.values()]).toMatchObject(response("resp_item").output);
  const missing = { status: 404, param: "input", message: "Item with id 'msg_resp_item' not found." };
  await expect(responseState.items("other", ["msg_resp_item"])).rejects.toMatchObject(missing);
});

test("a conversation gets the items of a response, one response at a time", async () => {
  const { responseState, conversations } = stored;
  const { id } = await conversations.create(CALLER, {}, [said("first")]);
  const unlock = await responseState.lockConversation("me", id);
  const locked = { status: 400, code: "conversation_locked", param: "conversation" };
  await expect(responseState.lockConversation("me", id)).rejects.toMatchObject(locked);
  await expect(conversations.append(CALLER, id, [said("between")])).rejects.toMatchObject(locked);
  await keep(response("resp_conv", { conversation: { id } }));
  await keep(response("resp_failed_conv", { conversation: { id }, status: "failed" }));
  await keep(response("resp_unstored", { conversation: { id }, store: false }));
  await expect(stored.responses.get("me", "resp_unstored")).rejects.toMatchObject({ status: 404 });
  unlock();
  await conversations.append(CALLER, id, [said("last")]);
  const context = await responseState.context("me", { conversationId: id });
  expect(texts(context)).toEqual(["first", "to resp_conv", "resp_conv", "to resp_unstored", "resp_unstored", "last"]);
  await expect(responseState.context("other", { conversationId: id })).rejects.toMatchObject({ status: 404 });
});

test("a conversation stays locked by an open response in the background after a restart", async () => {
  const { id } = await stored.conversations.create(CALLER, {}, [said("first")]);
  const open = response("resp_open", { status: "queued", background: true, conversation: { id } });
  await keep({ ...open, output: [] });
  const restarted = storedAnswers({ maxBody: MAX_BODY, maxStored: 1000 }, store, PARTS);
  const { responseState, conversations } = restarted;
  const locked = { status: 400, code: "conversation_locked", message: expect.stringContaining("'resp_open'") };
  await expect(responseState.lockConversation("me", id)).rejects.toMatchObject(locked);
  await expect(conversations.append(CALLER, id, [said("x")])).rejects.toMatchObject(locked);
  await expect(conversations.remove("me", id)).rejects.toMatchObject(locked);
  await (await responseState.lockConversation("other", id))();
  const error = JSON.stringify({ code: "server_error", message: "x" });
  await store.background.unanswered({ id: "resp_open", status: "failed", error, events: [] });
  (await responseState.lockConversation("me", id))();
  expect(texts(await responseState.context("me", { conversationId: id }))).toEqual(["first"]);
});

test("a chain is exported as one sample, with its calls as one message", async () => {
  const call = { type: "function_call", id: "fc_1", call_id: "c", name: "f", arguments: "{}" };
  const tools = [{ type: "function", name: "f", description: null, parameters: { type: "object" }, strict: true }];
  const owner = "exporter";
  const { responseState } = stored;
  await responseState.keep({ owner, key: null }, response("resp_call", { output: [call] }), [said("Call!")]);
  const result = { type: "function_call_output", call_id: "c", output: "1" };
  const last = response("resp_said", { previous_response_id: "resp_call", instructions: "Be brief.", tools });
  await responseState.keep({ owner, key: null }, last, [result]);
  const lines: string[] = [];
  for await (const line of exportLines(store, owner, { validation_percent: 10 })) lines.push(line);
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    {
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: "Call!" },
        {
          role: "assistant",
          content: null,
          tool_calls: [{ id: "c", type: "function", function: { name: "f", arguments: "{}" } }],
        },
        { role: "tool", tool_call_id: "c", content: "1" },
        { role: "assistant", content: "resp_said" },
      ],
      tools: [{ type: "function", function: { name: "f", parameters: { type: "object" }, strict: true } }],
    },
  ]);
});
