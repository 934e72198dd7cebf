import { expect, it } from "vitest";
import { Waiters } from "../../../engine/waiters.ts";

it("a waiter whose signal aborts is removed, and the others resolve", async () => {
  const waiters = new Waiters<number>();
  const gone = new AbortController();
  const waiting = Array.from({ length: 1000 }, () => waiters.add(gone.signal));
  const kept = waiters.add();
  expect(waiters.size).toBe(1001);
  gone.abort(new Error("gone"));
  expect(waiters.size).toBe(1);
  for (const each of await Promise.allSettled(waiting)) expect(each.status).toBe("rejected");
  waiters.resolveAll(7);
  expect(await kept).toBe(7);
  expect(waiters.size).toBe(0);
});

it("a signal that has aborted already adds no waiter", async () => {
  const waiters = new Waiters<number>();
  await expect(waiters.add(AbortSignal.abort(new Error("gone")))).rejects.toThrow("gone");
  expect(waiters.size).toBe(0);
});
