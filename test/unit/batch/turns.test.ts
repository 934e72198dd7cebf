import { expect, it } from "vitest";
import { Turns } from "../../../batch/turns.ts";

const never = new AbortController().signal;

/** Work that ends when it is told to. */
function work() {
  let end: (value: string) => void = () => {};
  let fail: (error: Error) => void = () => {};
  let begun = false;
  const done = new Promise<string>((resolve, reject) => {
    end = resolve;
    fail = reject;
  });
  const run = () => {
    begun = true;
    return done;
  };
  return { run, end: (value = "done") => end(value), fail, begun: () => begun };
}

it("goes one after the other, and on after a failure", async () => {
  const turns = new Turns();
  const [one, two] = [work(), work()];
  const first = turns.take(one.run, never);
  const second = turns.take(two.run, never);
  await new Promise(setImmediate);
  expect([one.begun(), two.begun()]).toEqual([true, false]);
  one.fail(new Error("no"));
  await expect(first).rejects.toThrow("no");
  two.end("yes");
  expect(await second).toBe("yes");
});

it("who is given up while it waits is over at once, and never begins", async () => {
  const turns = new Turns();
  const [one, two, three] = [work(), work(), work()];
  const first = turns.take(one.run, never);
  const given = new AbortController();
  const second = turns.take(two.run, given.signal);
  const third = turns.take(three.run, never);
  given.abort(new Error("given up"));
  await expect(second).rejects.toThrow("given up");
  await expect(turns.take(two.run, given.signal)).rejects.toThrow("given up");
  three.end();
  one.end();
  await Promise.all([first, third]);
  expect([two.begun(), three.begun()]).toEqual([false, true]);
});

it("who is given up in its turn keeps it until its work has ended", async () => {
  const turns = new Turns();
  const [one, two] = [work(), work()];
  const given = new AbortController();
  const first = turns.take(one.run, given.signal);
  const second = turns.take(two.run, never);
  await new Promise(setImmediate);
  given.abort(new Error("given up"));
  await new Promise(setImmediate);
  expect(two.begun()).toBe(false);
  one.end("ended");
  expect(await first).toBe("ended");
  two.end();
  await second;
});
