import { expect, test } from "vitest";
import { Questions } from "../../../engine/client/questions.ts";
import type { ToEngine } from "../../../engine/protocol/messages.ts";
import { unavailable } from "../../../openapi/api-error.ts";

const ANSWER = { tokens: [1], text: "a", pieces: [Buffer.from("a")] };
const DIED = unavailable("engine_died", "It died.", 1);

function asking(): { questions: Questions; sent: ToEngine[]; ask: (token: number) => Promise<unknown> } {
  const sent: ToEngine[] = [];
  const questions = new Questions((message) => sent.push(message));
  return { questions, sent, ask: (token) => questions.ask({ kind: "tokens", tokens: [token] }) };
}

test("each question gets its own answer, in whatever order they come", async () => {
  const { questions, sent, ask } = asking();
  const answers = [ask(1), ask(2)];
  expect(sent).toMatchObject([
    { type: "tokenize", id: 1 },
    { type: "tokenize", id: 2 },
  ]);
  expect(questions.size).toBe(2);
  questions.answered({ type: "tokenized", id: 2, answer: { ...ANSWER, text: "second" } });
  questions.answered({ type: "tokenized", id: 1, answer: { ...ANSWER, text: "first" } });
  expect(await Promise.all(answers)).toMatchObject([{ text: "first" }, { text: "second" }]);
  expect(questions.size).toBe(0);
});

test("a refusal is the ApiError that the client is told", async () => {
  const { questions, ask } = asking();
  const asked = ask(1);
  const error = { status: 400, type: "invalid_request_error" as const, code: "template_error", param: "messages" };
  questions.answered({ type: "tokenized", id: 1, answer: { error: { ...error, message: "No." } } });
  await expect(asked).rejects.toMatchObject(error);
});

test("the death of the process ends all that wait, and a late answer harms nobody", async () => {
  const { questions, ask } = asking();
  const asked = [ask(1), ask(2)];
  questions.failAll(DIED);
  questions.answered({ type: "tokenized", id: 1, answer: ANSWER });
  for (const one of asked) await expect(one).rejects.toBe(DIED);
});
