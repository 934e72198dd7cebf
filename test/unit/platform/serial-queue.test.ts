import { setMaxListeners } from "node:events";
import { expect, it } from "vitest";
import { SerialQueue } from "../../../platform/serial-queue.ts";

const never = new AbortController().signal;
setMaxListeners(0, never);

/** A job that the test ends. */
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

const settled = () => new Promise(setImmediate);

it("runs the given number of jobs at a time, and the next one after a failure", async () => {
  const queue = new SerialQueue(2);
  const [one, two, three] = [work(), work(), work()];
  const first = queue.take("a", 1, one.run, never);
  const second = queue.take("b", 1, two.run, never);
  const third = queue.take("c", 1, three.run, never);
  await settled();
  expect([one.begun(), two.begun(), three.begun()]).toEqual([true, true, false]);
  one.fail(new Error("no"));
  await expect(first).rejects.toThrow("no");
  two.end("yes");
  three.end("yes");
  expect(await Promise.all([second, third])).toEqual(["yes", "yes"]);
});

it("runs one job of each owner at a time", async () => {
  const queue = new SerialQueue(2);
  const [one, two] = [work(), work()];
  const first = queue.take("a", 1, one.run, never);
  const second = queue.take("a", 1, two.run, never);
  await settled();
  expect(two.begun()).toBe(false);
  one.end();
  two.end();
  await Promise.all([first, second]);
});

it("runs an owner's only job before 200 earlier ones of another owner", async () => {
  const queue = new SerialQueue(1);
  const order: string[] = [];
  const held = work();
  const running = queue.take("many", 1, held.run, never);
  const take = (owner: string) => queue.take(owner, 1, async () => void order.push(owner), never);
  const rest = [...Array.from({ length: 200 }, () => take("many")), take("few")];
  held.end();
  await Promise.all([running, ...rest]);
  expect(order.indexOf("few")).toBeLessThanOrEqual(1);
});

it("shares by cost: short jobs of one owner pass long ones of another", async () => {
  const queue = new SerialQueue(1);
  const order: string[] = [];
  const held = work();
  const running = queue.take("first", 1, held.run, never);
  const take = (owner: string, cost: number) => queue.take(owner, cost, async () => void order.push(owner), never);
  const long = Array.from({ length: 5 }, () => take("long", 100));
  const short = Array.from({ length: 50 }, () => take("short", 10));
  held.end();
  await Promise.all([running, ...long, ...short]);
  const shortBefore = order.flatMap((owner, index) =>
    owner === "long" ? order.slice(0, index).filter((one) => one === "short").length : [],
  );
  expect(shortBefore[2]).toBeGreaterThanOrEqual(19);
});

it("rejects an aborted job at once and never starts it", async () => {
  const queue = new SerialQueue(1);
  const [one, two, three] = [work(), work(), work()];
  const first = queue.take("a", 1, one.run, never);
  const given = new AbortController();
  const second = queue.take("b", 1, two.run, given.signal);
  const third = queue.take("c", 1, three.run, never);
  given.abort(new Error("given up"));
  await expect(second).rejects.toThrow("given up");
  await expect(queue.take("b", 1, two.run, given.signal)).rejects.toThrow("given up");
  three.end();
  one.end();
  await Promise.all([first, third]);
  expect([two.begun(), three.begun()]).toEqual([false, true]);
});

it("counts an aborted job as running until it has ended", async () => {
  const queue = new SerialQueue(1);
  const [one, two] = [work(), work()];
  const given = new AbortController();
  const first = queue.take("a", 1, one.run, given.signal);
  const second = queue.take("b", 1, two.run, never);
  await settled();
  given.abort(new Error("given up"));
  await settled();
  expect(two.begun()).toBe(false);
  one.end("ended");
  expect(await first).toBe("ended");
  two.end();
  await second;
});
