import { expect, test } from "vitest";
import type { FromEngine } from "../../../../engine/protocol/messages.ts";
import { dispatch, type WorkMessage } from "../../../../engine/worker/dispatch.ts";
import { PLAIN_SUBMISSION } from "../../../plain-submission.ts";

const REQUEST = { ...PLAIN_SUBMISSION, id: 7 };
const EMBEDDING = { id: 7, tier: "default", owner: "a", endpoint: "/v1/embeddings", inputs: [] } as const;
const MESSAGES: WorkMessage[] = [
  { type: "submit", request: REQUEST },
  { type: "embed", request: { ...EMBEDDING, inputs: [] } },
  { type: "tokenize", id: 7, question: { kind: "tokens", tokens: [1], pieces: false } },
];

/** Records its calls, and fails in each of them where an error is given. */
function fakeModel(error?: Error) {
  const calls: string[] = [];
  const call = (name: string) => async () => {
    calls.push(name);
    if (error !== undefined) throw error;
  };
  const pending: (() => void)[] = [];
  const model = {
    status: null,
    submit: call("submit"),
    embed: call("embed"),
    tokenize: call("tokenize"),
    cancel: (id: number) => void calls.push(`cancel ${id}`),
    afterIteration: (then: () => void) => void pending.push(then),
  };
  return { model, calls, pending };
}

test("every kind of work reaches the model", async () => {
  const { model, calls } = fakeModel();
  for (const message of MESSAGES) await dispatch(message, model, () => {});
  expect(calls).toEqual(["submit", "embed", "tokenize"]);
});

test("a cancelled request is confirmed when the step that computes has ended", async () => {
  const { model, calls, pending } = fakeModel();
  const posted: FromEngine[] = [];
  await dispatch({ type: "cancel", id: 7 }, model, (message) => posted.push(message));
  expect(calls).toEqual(["cancel 7"]);
  expect(posted).toEqual([]);
  for (const then of pending) then();
  expect(posted).toEqual([{ type: "cancelled", id: 7 }]);
});

test("an inspection is answered with the model's status", async () => {
  const posted: FromEngine[] = [];
  await dispatch({ type: "inspect" }, fakeModel().model, (message) => posted.push(message));
  expect(posted).toEqual([{ type: "status", status: null }]);
});

test.each(MESSAGES)("an unexpected error in $type costs that request a 500", async (message) => {
  const { model, calls } = fakeModel(new TypeError("the client's secret"));
  const posted: FromEngine[] = [];
  await dispatch(message, model, (each) => posted.push(each));
  expect(calls).toEqual([message.type, "cancel 7"]);
  const error = { code: "internal_error" };
  expect(posted).toMatchObject([
    { type: "fault", stack: expect.stringContaining("TypeError") },
    message.type === "tokenize" ? { type: "tokenized", id: 7, answer: { error } } : { type: "refused", id: 7, error },
  ]);
  expect(JSON.stringify(posted)).not.toContain("secret");
});
