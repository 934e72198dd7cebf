import { expect, test } from "vitest";
import type { Tier } from "../../../../../engine/protocol/request.ts";
import type { TextOwner } from "../../../../../engine/worker/text/tokenize-queue.ts";
import { Tokenizer } from "../../../../../engine/worker/text/tokenizer.ts";

const LONG = "x".repeat(16 * 1024 + 1);

/** A tokenizer over native calls that the test ends one by one. */
function heldTokenizer() {
  const calls: (() => void)[] = [];
  let most = 0;
  const tokenizer = new Tokenizer({
    longestToken: 8,
    async tokenize(text) {
      await new Promise<void>((resolve) => {
        calls.push(resolve);
        most = Math.max(most, calls.length);
      });
      return Int32Array.of(text.length);
    },
    tokenizeNow: (text) => Int32Array.of(text.length),
  });
  const release = async () => {
    calls.shift()?.();
    await settled();
  };
  return { tokenizer, calls, release, most: () => most };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));
const owner = (tier: Tier, isWanted = () => true): TextOwner => ({ tier, isWanted });
const parts = (...texts: string[]) => texts.map((text) => ({ text, special: false }));

test("the number of native calls at once is bounded", async () => {
  const { tokenizer, calls, release, most } = heldTokenizer();
  const many = Array.from({ length: 40 }, () => tokenizer.tokens(parts(LONG, LONG), owner("default")));
  await settled();
  while (calls.length > 0) await release();
  expect(most()).toBe(2);
  for (const lists of await Promise.all(many)) expect(lists).toHaveLength(2);
});

test("long texts of lower tiers leave one call to online work, in the order of tiers", async () => {
  const { tokenizer, calls, release } = heldTokenizer();
  const done: string[] = [];
  const read = (name: string, tier: Tier) =>
    tokenizer.tokens(parts(LONG), owner(tier)).then(() => {
      done.push(name);
    });
  const reading = [read("batch", "batch"), read("second batch", "batch"), read("flex", "flex")];
  await settled();
  expect(calls).toHaveLength(1);
  reading.push(read("online", "default"));
  await settled();
  expect(calls).toHaveLength(2);
  while (calls.length > 0) await release();
  await Promise.all(reading);
  expect(done).toEqual(["batch", "online", "flex", "second batch"]);
});

test("a text that is cancelled while it waits is not tokenized", async () => {
  const { tokenizer, calls, release } = heldTokenizer();
  const first = tokenizer.tokens(parts(LONG), owner("batch"));
  let wanted = true;
  const second = tokenizer.tokens(
    parts(LONG, LONG),
    owner("batch", () => wanted),
  );
  await settled();
  wanted = false;
  await release();
  expect(await first).toHaveLength(1);
  expect(await second).toBeNull();
  expect(calls).toHaveLength(0);
});

test("a prompt of many short texts lets the event loop run in between", async () => {
  const { tokenizer } = heldTokenizer();
  let turns = 0;
  let over = false;
  const others = () => {
    turns++;
    if (!over) setImmediate(others);
  };
  setImmediate(others);
  const lists = await tokenizer.tokens(parts(...new Array<string>(200).fill("x".repeat(4096))), owner("default"));
  over = true;
  expect(lists).toHaveLength(200);
  expect(turns).toBeGreaterThan(20);
});
