import fc from "fast-check";
import { expect, it } from "vitest";
import { jsonBytes, jsonPieces, LateList } from "../../../openapi/json/json-pieces.ts";
import { chatLogprobs, lateChatLogprobs } from "../../../server/dialects/chat-logprobs.ts";
import { CompletionTokens, lateCompletionLogprobs } from "../../../server/dialects/completion-logprobs.ts";

it("writes what JSON.stringify writes", async () => {
  await fc.assert(
    fc.asyncProperty(fc.jsonValue(), async (value) => {
      expect(String(await jsonBytes({ value, left: undefined }))).toBe(JSON.stringify({ value, left: undefined }));
    }),
  );
});

const token = (i: number) => ({ bytes: Buffer.from(`t\u00e9${i}`), logprob: -1 - i / 7 });
const tokens = Array.from({ length: 300 }, (_, i) => ({
  ...token(i),
  top: Array.from({ length: 20 }, (_, j) => token(i + j)),
}));

it("writes a LateList like the array of its items", async () => {
  expect(JSON.parse(String(await jsonBytes(lateChatLogprobs(tokens))))).toEqual(chatLogprobs(tokens));
  const written = JSON.parse(String(await jsonBytes(lateCompletionLogprobs(tokens))));
  expect(written).toEqual(new CompletionTokens().add(tokens));
});

it("makes the items of a large list one piece at a time", () => {
  let made = 0;
  const items = new LateList(Array(100_000).fill("x".repeat(100)), (item) => {
    made++;
    return item;
  });
  const pieces = jsonPieces({ items });
  let before = 0;
  for (const piece of pieces) {
    expect(piece.length).toBeLessThan(66_000);
    expect(made - before).toBeLessThan(1000);
    before = made;
  }
  expect(made).toBe(100_000);
});

it("ends a piece between the members of an object too", () => {
  const members = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`k${i}`, "x".repeat(20)]));
  const pieces = [...jsonPieces(members)];
  expect(pieces.join("")).toBe(JSON.stringify(members));
  expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(66_000);
});
