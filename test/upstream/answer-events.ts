import type { Asked } from "./asked.ts";
import type { Dialect } from "./dialect.ts";
import { type ChoiceAnswer, type FakeAnswer, logprobsOf } from "./fake-answer.ts";
import type { Usage } from "./misbehaviour.ts";

/** An event of a stream, and the tokens that it brings. */
export interface AnswerEvent {
  json: unknown;
  tokens: number;
}

/** All that an answer is written from. */
export interface AnswerView {
  asked: Asked;
  answer: FakeAnswer;
  dialect: Dialect;
  id: string;
  /** As the answer names it. */
  model: string;
  usages: readonly Usage[];
}

type Delta = Record<string, unknown>;

/** The events of a streamed answer in order, without `[DONE]`. Choices take turns, token by token. */
export function* answerEvents(view: AnswerView): Generator<AnswerEvent> {
  const { asked, answer } = view;
  const turns = answer.choices.map((choice) => choiceEvents(choice, view));
  for (let left = turns; left.length > 0; ) {
    const next: typeof turns = [];
    for (const turn of left) {
      const { value, done } = turn.next();
      if (done === true) continue;
      yield value;
      next.push(turn);
    }
    left = next;
  }
  if (!asked.includeUsage) return;
  for (const usage of streamedUsages(view)) yield { json: { ...head(view), choices: [], usage }, tokens: 0 };
}

/** Those of a choice each have its part of the sum. */
function streamedUsages({ answer, usages, dialect }: AnswerView): readonly Usage[] {
  const { length } = answer.choices;
  if (!dialect.usageByChoice || length === 1) return usages;
  return usages.flatMap((usage) =>
    answer.choices.map((_, index) => {
      const completion = Math.floor((usage.completion_tokens + index) / length);
      return { ...usage, completion_tokens: completion, total_tokens: usage.prompt_tokens + completion };
    }),
  );
}

/** The body of an answer that is not streamed. */
export function answerBody(view: AnswerView): Record<string, unknown> {
  const { asked, answer, usages } = view;
  const choices = answer.choices.map((choice) => (asked.chat ? chatChoice(choice, view) : textChoice(choice, view)));
  return { ...head(view, false), choices, ...(usages.length > 0 && { usage: usages.at(-1) }) };
}

/** One more event with this content, as the first choice would have it. */
export function contentEvent(content: string, view: AnswerView): AnswerEvent {
  return view.asked.chat ? chatEvent(0, { content }, view, [content]) : textEvent(0, content, view);
}

function* choiceEvents(choice: ChoiceAnswer, view: AnswerView): Generator<AnswerEvent> {
  const { asked, dialect } = view;
  const { index, finish } = choice;
  if (!asked.chat) {
    for (const piece of choice.content) yield textEvent(index, piece, view);
    yield { ...textEvent(index, "", view, finish), tokens: 0 };
    return;
  }
  yield { ...chatEvent(index, { role: "assistant", content: "" }, view), tokens: 0 };
  for (const piece of choice.reasoning)
    yield chatEvent(index, { [dialect.reasoning ?? "content"]: piece }, view, [piece]);
  for (const piece of choice.content) yield chatEvent(index, { content: piece }, view, [piece]);
  for (const [at, call] of choice.calls.entries()) {
    const first = { index: at, id: call.id, type: "function", function: { name: call.name, arguments: "" } };
    yield chatEvent(index, { tool_calls: [first] }, view);
    for (const piece of call.arguments) {
      yield chatEvent(index, { tool_calls: [{ index: at, function: { arguments: piece } }] }, view);
    }
  }
  yield { ...chatEvent(index, {}, view, [], finish), tokens: 0 };
}

function chatEvent(index: number, delta: Delta, view: AnswerView, pieces: string[] = [], finish: string | null = null) {
  const { asked, dialect } = view;
  const logprobs =
    asked.logprobs === null || pieces.length === 0
      ? null
      : { content: pieces.map((piece) => logprobsOf(piece, asked.logprobs ?? 0)) };
  const choice = { index, delta: { ...dialect.delta, ...delta }, logprobs, finish_reason: finish };
  return { json: { ...head(view), choices: [choice], ...endOf(finish, view) }, tokens: 1 };
}

function textEvent(index: number, text: string, view: AnswerView, finish: string | null = null): AnswerEvent {
  const logprobs = view.asked.logprobs === null || text === "" ? null : textLogprobs([text], view.asked.logprobs);
  const choice = { index, text, logprobs, finish_reason: finish };
  return { json: { ...head(view), choices: [choice], ...endOf(finish, view) }, tokens: 1 };
}

function chatChoice({ index, reasoning, content, calls, finish }: ChoiceAnswer, { asked, dialect }: AnswerView) {
  const message = {
    role: "assistant",
    content: calls.length > 0 ? null : content.join(""),
    ...(dialect.reasoning !== null && { [dialect.reasoning]: reasoning.length > 0 ? reasoning.join("") : null }),
    ...(calls.length > 0 && {
      tool_calls: calls.map((call) => ({
        id: call.id,
        type: "function",
        function: { name: call.name, arguments: call.arguments.join("") },
      })),
    }),
  };
  const logprobs =
    asked.logprobs === null ? null : { content: content.map((piece) => logprobsOf(piece, asked.logprobs ?? 0)) };
  return { index, message, logprobs, finish_reason: finish };
}

function textChoice({ index, content, finish }: ChoiceAnswer, { asked }: AnswerView) {
  const logprobs = asked.logprobs === null ? null : textLogprobs(content, asked.logprobs);
  return { index, text: content.join(""), logprobs, finish_reason: finish };
}

/** Of completions: lists side by side. */
function textLogprobs(pieces: readonly string[], count: number) {
  const all = pieces.map((piece) => logprobsOf(piece, count));
  return {
    tokens: pieces,
    token_logprobs: all.map(({ logprob }) => logprob),
    top_logprobs: all.map((one) => Object.fromEntries(one.top_logprobs.map(({ token, logprob }) => [token, logprob]))),
    text_offset: pieces.map((_, at) => pieces.slice(0, at).join("").length),
  };
}

function endOf(finish: string | null, { answer, dialect }: AnswerView): Record<string, unknown> {
  return finish === null ? {} : dialect.lastChunk(answer.promptTokens, answer.completionTokens);
}

function head({ asked, dialect, id, model }: AnswerView, chunk = true): Record<string, unknown> {
  const object = asked.chat ? `chat.completion${chunk ? ".chunk" : ""}` : "text_completion";
  const usage = chunk && asked.includeUsage && dialect.nullUsage ? { usage: null } : {};
  return { id, object, created: 1_795_000_000, model, ...dialect.chunk, ...usage };
}
