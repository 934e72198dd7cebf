import { expect, it, vi } from "vitest";
import type { GrammarOutcome, GrammarSource } from "../../../../grammar/kept-grammars.ts";
import { GrammarLost } from "../../../../server/grammar/grammar-process.ts";
import { GrammarQueue } from "../../../../server/grammar/grammar-queue.ts";

const never = new AbortController().signal;

/** Makes each grammar on command of the test. */
function heldMaker() {
  const begun: { text: string; end(outcome: GrammarOutcome): void; fail(error: Error): void }[] = [];
  const make = ({ text }: GrammarSource) =>
    new Promise<GrammarOutcome>((end, fail) => {
      begun.push({ text, end, fail });
    });
  return { begun, make };
}

function source(text: string): GrammarSource {
  return { kind: "schema", text };
}

it("equal sources are made once, and owners share the process fairly", async () => {
  const maker = heldMaker();
  let now = 0;
  const queue = new GrammarQueue(maker, () => now);
  const made = [
    queue.make(source("a1"), "a", never),
    queue.make(source("a2"), "a", never),
    queue.make(source("a2"), "b", never),
    queue.make(source("b1"), "b", never),
  ];
  for (const [index, text] of ["a1", "b1", "a2"].entries()) {
    await vi.waitFor(() => expect(maker.begun).toHaveLength(index + 1));
    expect(maker.begun[index]!.text).toBe(text);
    now += 1000;
    maker.begun[index]!.end({ grammar: text });
  }
  expect(await Promise.all(made)).toEqual(["a1", "a2", "a2", "b1"].map((grammar) => ({ grammar })));
});

it("a waiting grammar is dropped when its clients disconnect", async () => {
  const maker = heldMaker();
  const queue = new GrammarQueue(maker, () => 0);
  const first = queue.make(source("first"), "a", never);
  const gone = new AbortController();
  const left = queue.make(source("left"), "a", gone.signal);
  const last = queue.make(source("last"), "a", never);
  gone.abort(new Error("gone"));
  await expect(left).rejects.toThrow("gone");
  maker.begun[0]!.end({ grammar: "" });
  await first;
  await vi.waitFor(() => expect(maker.begun).toHaveLength(2));
  expect(maker.begun[1]!.text).toBe("last");
  maker.begun[1]!.end({ grammar: "" });
  await last;
});

it("one owner fills at most half of the queue", async () => {
  const maker = heldMaker();
  let now = 0;
  const queue = new GrammarQueue(maker, () => now++);
  for (let i = 0; i < 256; i++) void queue.make(source(`a${i}`), "a", never);
  await expect(queue.make(source("more"), "a", never)).rejects.toMatchObject({ status: 503, retryAfter: 2 });
  const others = queue.make(source("b"), "b", never);
  maker.begun[0]!.end({ grammar: "" });
  await vi.waitFor(() => expect(maker.begun).toHaveLength(2));
  expect(maker.begun[1]!.text).toBe("b");
  maker.begun[1]!.end({ grammar: "b" });
  expect(await others).toEqual({ grammar: "b" });
});

it("a grammar is made once more after a process ends, and then is a 400", async () => {
  const maker = heldMaker();
  const queue = new GrammarQueue(maker, () => 0);
  const saved = queue.make(source("saved"), "a", never);
  maker.begun[0]!.fail(new GrammarLost("SIGKILL"));
  await vi.waitFor(() => expect(maker.begun).toHaveLength(2));
  maker.begun[1]!.end({ grammar: "saved" });
  expect(await saved).toEqual({ grammar: "saved" });

  const lost = expect(queue.make(source("lost"), "a", never)).rejects.toMatchObject({
    status: 400,
    code: "unsupported_value",
  });
  for (const index of [2, 3]) {
    await vi.waitFor(() => expect(maker.begun).toHaveLength(index + 1));
    maker.begun[index]!.fail(new GrammarLost("SIGKILL"));
  }
  await lost;
});
