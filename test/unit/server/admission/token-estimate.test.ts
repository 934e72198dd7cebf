import { expect, it } from "vitest";
import type { Prompt } from "../../../../engine/protocol/prompt.ts";
import { promptSize } from "../../../../server/admission/token-estimate.ts";

const chat = (content: string, tools: object[] = []) =>
  ({ kind: "chat", messages: [{ role: "user", content }], tools }) as unknown as Prompt;

const infill = (files: { name: string; text: string }[]): Prompt => {
  return {
    kind: "infill",
    prefix: "x".repeat(8),
    suffix: "x",
    middle: "x\u0416",
    repository: { files, answerTokens: 1 },
  };
};

it.each([
  ["a text", { kind: "text", text: "x".repeat(40) }, { usual: 10, most: 40 }],
  ["tokens", { kind: "tokens", tokens: [1, 2, 3] }, { usual: 3, most: 3 }],
  ["a prefix and a suffix, with their marks", infill([]), { usual: 3, most: 44 }],
  ["other files beside them", infill([{ name: "f", text: "x".repeat(9) }]), { usual: 6, most: 78 }],
  ["messages, by their JSON", chat("\u0416"), { usual: 9, most: 37 }],
  ["a longer text than the context", { kind: "text", text: "x".repeat(900) }, { usual: 100, most: 100 }],
  ["longer messages than the context", chat("x".repeat(900)), { usual: 100, most: 100 }],
] as [string, Prompt, object][])("the tokens of %s are estimated up to the context", (_, prompt, size) => {
  expect(promptSize(prompt, 100)).toEqual(size);
});

it("only a part of a prompt far longer than the context is read", () => {
  let looks = 0;
  const part = {
    get title() {
      looks++;
      return "text";
    },
  };
  expect(promptSize(chat("hi", Array(100_000).fill(part)), 100)).toEqual({ usual: 100, most: 100 });
  expect(looks).toBeLessThan(100);
});
