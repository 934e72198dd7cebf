import { expect, it, test } from "vitest";
import type { AnswerClass, Classified } from "../../../../../engine/upstream/answer/answer-class.ts";
import { readError } from "../../../../../engine/upstream/answer/error-body.ts";
import { failureError } from "../../../../../engine/upstream/answer/failure-error.ts";

const classified = (
  name: AnswerClass,
  error: object | null = null,
  retryAfterMs: number | null = null,
): Classified => ({
  ...{ class: name, fault: null, retryAfterMs },
  error: error === null ? null : readError({ error }),
});
const errorOf = (one: Classified, trusted = false) => failureError(one, "up", trusted);

test.each<[AnswerClass, number, string]>([
  ["busy", 503, "server_is_overloaded"],
  ["gone", 503, "upstream_unavailable"],
  ["ours", 503, "upstream_unavailable"],
  ["fault", 502, "upstream_failed"],
  ["client", 400, "upstream_refused"],
])("a failure of class %s is a %d", (name, status, code) => {
  const error = errorOf(classified(name, { message: "some words" }));
  expect(error).toMatchObject({ status, code });
  expect(error.message).toContain("'up'");
  expect(error.message).not.toContain("some words");
});

it("passes on how long to wait, in whole seconds of at least one", () => {
  expect(errorOf(classified("busy", null, 1500)).retryAfter).toBe(2);
  expect(errorOf(classified("busy", null, 0)).retryAfter).toBe(1);
  expect(errorOf(classified("gone")).retryAfter).toBe(5);
});

it("has the words of a trusted upstream about the client's request, and no more than 500 characters", () => {
  expect(errorOf(classified("client", { message: "x".repeat(1000) }), true).message).toMatch(/ It says: x{500}$/);
  for (const name of ["busy", "gone", "ours", "fault"] as const) {
    expect(errorOf(classified(name, { message: "some words" }), true).message).not.toContain("some words");
  }
});

it("names the log to a client that may not have the words of an upstream that refuses its request", () => {
  const { message } = errorOf(classified("client", { message: "some words" }));
  expect(message).toBe(
    "The upstream 'up' refuses this request as invalid. The server's log says why, for its operator.",
  );
});

test.each([
  ["OpenAI", { message: "Too long.", code: "context_length_exceeded" }, undefined],
  [
    "vLLM",
    { message: "This model's maximum context length is 10 tokens. However, you requested 12 tokens" },
    undefined,
  ],
  [
    "llama-server",
    { message: "request (12 tokens) exceeds the available context size (10 tokens), try increasing it" },
    { tokens: 12, most: 9 },
  ],
  [
    "Nightshift",
    { message: "This model's maximum context length is 10 tokens, and the prompt alone has 12. Shorten it" },
    { tokens: 12, most: 9 },
  ],
])("a request that is too long is one in the words of %s", (_, error, excess) => {
  const { status, code, excess: told, message } = errorOf(classified("client", error));
  expect({ status, code, told }).toEqual({ status: 400, code: "context_length_exceeded", told: excess });
  expect(message.includes("Its prompt has 12 tokens, of at most 9.")).toBe(excess !== undefined);
});
