import { expect, test } from "vitest";
import type { ChatMessage } from "../../../../engine/protocol/prompt.ts";
import type { TokenQuestion } from "../../../../engine/protocol/tokenize.ts";
import { ApiError } from "../../../../openapi/api-error.ts";
import { DEFAULT_REQUEST_LIMITS } from "../../../../openapi/request-limits.ts";
import { chatReader } from "../../../../server/dialects/chat.ts";
import { withinContext } from "../../../../server/generation/truncation.ts";
import { FACTS, FakeEngine } from "../fake-engine.ts";

const CONTEXT = 80;

/** An engine of which each message takes ten tokens. */
class CountingEngine extends FakeEngine {
  override async tokenize(question?: TokenQuestion) {
    const { prompt } = question as Extract<TokenQuestion, { kind: "prompt" }>;
    const length = 10 * (prompt.kind === "chat" ? prompt.messages.length : 0);
    if (length >= CONTEXT) throw new ApiError("context_length_exceeded", "too long");
    return { tokens: new Int32Array(length), pieces: null };
  }
}

/** The contents that are left of messages: `u` is of the user, `a` of the assistant, `s` of the system, `t` of a tool. */
async function left(contents: string, maxTokens?: number): Promise<string> {
  const roles = { u: "user", a: "assistant", s: "system", t: "tool" } as const;
  const messages = contents.split(" ").map((content) => {
    const role = roles[content[0] as keyof typeof roles];
    return { role, content, ...(role === "tool" && { tool_call_id: "c" }) };
  });
  const body = { model: "demo", messages, ...(maxTokens !== undefined && { max_tokens: maxTokens }) };
  const request = chatReader(DEFAULT_REQUEST_LIMITS)(body);
  const model = { id: "demo", engine: new CountingEngine(), created: 0 };
  const parts = { model, facts: { ...FACTS, context: CONTEXT } };
  const { submissions } = await withinContext(request, parts, new AbortController().signal);
  const { prompt } = submissions[0]!;
  const kept: ChatMessage[] = prompt.kind === "chat" ? prompt.messages : [];
  return kept.map(({ content }) => content).join(" ");
}

test.each([
  ["a prompt that fits stays", "s u1 a1 u2 a2 u3", "s u1 a1 u2 a2 u3"],
  ["the oldest turns go first, and the instructions stay", "s u1 a1 u2 a2 u3 a3 u4 a4 u5", "s u3 a3 u4 a4 u5"],
  ["of a long last turn the earlier calls go", "s u1 a1 u2 a2 t2 a3 t3 a4 t4 a5 t5", "s u2 a4 t4 a5 t5"],
  ["a last message that is too long stays", "s s s s s s s s u1 a1 u2", "s s s s s s s s u2"],
])("%s", async (_, messages, kept) => {
  expect(await left(messages)).toBe(kept);
});

test("an answer with a small bound leaves more room to the prompt", async () => {
  expect(await left("u1 a1 u2 a2 u3 a3 u4", 1)).toBe("u1 a1 u2 a2 u3 a3 u4");
  expect(await left("u1 a1 u2 a2 u3 a3 u4 a4 u5", 10)).toBe("u2 a2 u3 a3 u4 a4 u5");
});
