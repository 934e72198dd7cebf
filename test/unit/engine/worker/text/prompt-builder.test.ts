import { expect, test } from "vitest";
import { PromptBuilder } from "../../../../../engine/worker/text/prompt-builder.ts";
import { Renderer } from "../../../../../engine/worker/text/renderer.ts";
import { ChatTemplate } from "../../../../../engine/worker/text/template/chat-template.ts";

const CONTEXT = 100;
const MOST_BYTES = 1000;

/** A builder that counts the texts which it has tokenized. */
function makeBuilder() {
  const tokenized: string[] = [];
  const template = new ChatTemplate(null, { bos: "", eos: "", specialTokens: ["<|im_end|>"] });
  const builder = new PromptBuilder({
    vocabulary: { addBos: false, bos: -1, infill: null, piece: () => new Uint8Array() },
    tokenizer: {
      mostBytes: () => MOST_BYTES,
      async tokens(parts) {
        tokenized.push(...parts.map(({ text }) => text));
        return parts.map(() => Int32Array.of(7));
      },
    },
    template,
    renderer: new Renderer({ template, context: CONTEXT }),
    context: CONTEXT,
    now: () => new Date(0),
  });
  return { builder, tokenized };
}

const owner = { tier: "default" as const, isWanted: () => true };
const chat = (content: string) => ({
  kind: "chat" as const,
  messages: [{ role: "user" as const, content }],
  variables: {},
  thinking: { effort: null, budget: null },
  tools: [],
});

test("a prompt of more bytes than the context's tokens have is refused before tokenizing", async () => {
  const { builder, tokenized } = makeBuilder();
  const tooLong = { error: { code: "context_length_exceeded" } };
  const cut = `${"x".repeat(100)}<|im_end|>`;
  await expect(builder.build(chat(cut.repeat(10)), owner)).rejects.toMatchObject(tooLong);
  await expect(builder.build({ kind: "text", text: "x".repeat(MOST_BYTES + 1) }, owner)).rejects.toMatchObject(tooLong);
  expect(tokenized).toEqual([]);
  expect((await builder.build({ kind: "text", text: "x".repeat(MOST_BYTES) }, owner))?.tokens).toEqual([7]);
});
