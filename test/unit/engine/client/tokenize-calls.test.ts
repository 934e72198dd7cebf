import { afterEach, expect, test, vi } from "vitest";
import { TokenizeCalls } from "../../../../engine/client/tokenize-calls.ts";
import type { ToEngine } from "../../../../engine/protocol/messages.ts";
import { unavailable } from "../../../../openapi/api-error.ts";

const ANSWER = { tokens: Int32Array.of(1), pieces: null };
const DIED = unavailable("engine_died", "It died.", 1);

function asking() {
  const sent: ToEngine[] = [];
  let lastId = 0;
  const questions = new TokenizeCalls(
    (message) => sent.push(message),
    () => ++lastId,
  );
  const ask = (token: number, signal = new AbortController().signal) =>
    questions.send({ kind: "tokens", tokens: [token], pieces: false }, signal);
  return { questions, sent, ask };
}

test("each question gets its own answer in any order", async () => {
  const { questions, sent, ask } = asking();
  const answers = [ask(1), ask(2)];
  expect(sent).toMatchObject([
    { type: "tokenize", id: 1 },
    { type: "tokenize", id: 2 },
  ]);
  expect(questions.size).toBe(2);
  questions.answered({ type: "tokenized", id: 2, answer: { ...ANSWER, tokens: Int32Array.of(2) } });
  questions.answered({ type: "tokenized", id: 1, answer: ANSWER });
  expect(await Promise.all(answers)).toEqual([ANSWER, { ...ANSWER, tokens: Int32Array.of(2) }]);
  expect(questions.size).toBe(0);
});

test("a refusal rejects with the ApiError of the response", async () => {
  const { questions, ask } = asking();
  const asked = ask(1);
  const error = { code: "template_error" as const, param: "messages" };
  questions.answered({ type: "tokenized", id: 1, answer: { error: { ...error, message: "No." } } });
  await expect(asked).rejects.toMatchObject({ ...error, status: 400, type: "invalid_request_error" });
});

test("the death of the process fails all questions, and a late answer is ignored", async () => {
  const { questions, ask } = asking();
  const asked = [ask(1), ask(2)];
  questions.failAll(DIED);
  questions.answered({ type: "tokenized", id: 1, answer: ANSWER });
  for (const one of asked) await expect(one).rejects.toBe(DIED);
});

test("a client's disconnect cancels its question in the engine", async () => {
  const { questions, sent, ask } = asking();
  const client = new AbortController();
  const asked = ask(1, client.signal);
  client.abort(new Error("gone"));
  await expect(asked).rejects.toThrow("gone");
  expect(sent.at(-1)).toEqual({ type: "cancel", id: 1 });
  expect(questions.size).toBe(0);
  questions.answered({ type: "tokenized", id: 1, answer: ANSWER });
  await expect(ask(2, client.signal)).rejects.toThrow("gone");
  expect(sent).toHaveLength(2);
});

afterEach(() => {
  vi.useRealTimers();
});

test("a question that times out is cancelled in the engine", async () => {
  vi.useFakeTimers();
  const { sent, ask } = asking();
  const asked = ask(1).catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(await asked).toMatchObject({ status: 503 });
  expect(sent.at(-1)).toEqual({ type: "cancel", id: 1 });
});
