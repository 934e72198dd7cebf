import { expect, test } from "vitest";
import type { InfillPrompt, InfillRepository } from "../../../../../engine/protocol/prompt.ts";
import type { InfillTokens } from "../../../../../engine/worker/native/vocabulary.ts";
import { PromptBuilder } from "../../../../../engine/worker/text/prompt-builder.ts";
import { Renderer } from "../../../../../engine/worker/text/renderer.ts";
import { ChatTemplate } from "../../../../../engine/worker/text/template/chat-template.ts";

const CONTEXT = 100;
const [BOS, PREFIX, SUFFIX, MIDDLE, REPOSITORY, FILE] = [900, 901, 902, 903, 904, 905];
const BARE: InfillTokens = { prefix: PREFIX, suffix: SUFFIX, middle: MIDDLE, repository: null, file: null };
const FULL: InfillTokens = { ...BARE, repository: REPOSITORY, file: FILE };

/** Each byte of a text is a token. */
function builderOf(infill: InfillTokens | null, addBos = false): PromptBuilder {
  const template = new ChatTemplate(null, { bos: "", eos: "", specialTokens: [] });
  return new PromptBuilder({
    vocabulary: { addBos, bos: BOS, infill, piece: () => new Uint8Array() },
    tokenizer: {
      mostBytes: () => 1000,
      tokens: async (parts) => parts.map(({ text }) => Int32Array.from(Buffer.from(text))),
    },
    template,
    renderer: new Renderer({ template, context: CONTEXT }),
    context: CONTEXT,
    now: () => new Date(0),
  });
}

const owner = { tier: "default" as const, isWanted: () => true };
const prompt = (repository: InfillRepository | null, prefix = "ab"): InfillPrompt => {
  return { kind: "infill", prefix, suffix: "ef", middle: "cd", repository };
};
const bytes = (text: string) => [...Buffer.from(text)];
const OWN = [PREFIX, ...bytes("abcd"), SUFFIX, ...bytes("ef"), MIDDLE];

test("a prefix and a suffix that stand alone have no marks of a repository", async () => {
  expect((await builderOf(FULL).build(prompt(null), owner))?.tokens).toEqual(OWN);
});

test("other files come before the token that begins texts, each with its name", async () => {
  const repository = { files: [{ name: "a", text: "1" }], answerTokens: 1 };
  expect((await builderOf(FULL, true).build(prompt(repository), owner))?.tokens).toEqual([
    ...[REPOSITORY, ...bytes("myproject\n"), FILE, ...bytes("a\n1"), FILE, ...bytes("filename\n")],
    ...[BOS, ...OWN],
  ]);
});

test("other files have a line before them where the model has no tokens for files", async () => {
  const repository = { files: [{ name: "a", text: "1" }], answerTokens: 1 };
  const tokens = [...bytes("\n\n--- snippet ---\n\n1"), ...OWN];
  expect((await builderOf(BARE).build(prompt(repository), owner))?.tokens).toEqual(tokens);
});

test.each([
  [1, CONTEXT - 2],
  [40, CONTEXT - 41],
  [null, CONTEXT - 26],
  [CONTEXT, OWN.length],
])("the first tokens of other files leave room to an answer of %s tokens", async (answerTokens, length) => {
  const repository = { files: [{ name: "a", text: "1".repeat(200) }], answerTokens };
  const tokens = (await builderOf(BARE).build(prompt(repository), owner))!.tokens;
  expect(tokens).toHaveLength(length);
  expect(tokens.slice(-OWN.length)).toEqual(OWN);
});

test("a prompt is refused by a model without the tokens, and for more bytes than the context's tokens have", async () => {
  const refused = (code: string) => ({ error: { code } });
  await expect(builderOf(null).build(prompt(null), owner)).rejects.toMatchObject(refused("unsupported_model"));
  const long = prompt({ files: [{ name: "a", text: "1".repeat(600) }], answerTokens: 1 }, "x".repeat(400));
  await expect(builderOf(FULL).build(long, owner)).rejects.toMatchObject(refused("context_length_exceeded"));
});
