import fc from "fast-check";
import { expect, it, test } from "vitest";
import { OwnerCounts } from "../../../platform/owner-counts.ts";

it("counts ahead all own requests, and of each other owner at most own + 1", () => {
  const queue = new OwnerCounts();
  expect(queue.shareAhead("a")).toBe(1);
  queue.add("a", 10);
  expect(queue.shareAhead("a")).toBe(1);
  expect(queue.shareAhead("b")).toBeCloseTo(1 / 10);
  queue.add("b", 2);
  expect(queue.shareAhead("b")).toBeCloseTo((2 + 3) / 12);
  expect(queue.shareAhead("a")).toBe(1);
  queue.add("b", -2);
  expect([queue.of("b"), queue.total]).toEqual([0, 10]);
});

test.each<[string, Record<string, number>, string, number, boolean]>([
  ["as many as may wait", { a: 7 }, "a", 1, true],
  ["one too many", { a: 8 }, "a", 1, false],
  ["many at once in an empty queue", {}, "a", 20, true],
  ["another owner where one has all", { a: 8 }, "b", 4, true],
  ["more than an equal part", { a: 8 }, "b", 5, false],
  ["an owner that has an equal part already", { a: 8, b: 4 }, "b", 1, false],
  ["a third owner", { a: 8, b: 4 }, "c", 2, true],
])("of a queue of eight: %s", (_, waiting, owner, count, takes) => {
  const queue = new OwnerCounts();
  for (const [one, requests] of Object.entries(waiting)) queue.add(one, requests);
  expect(queue.takes(owner, count, 8)).toBe(takes);
});

test("a share ahead is within 0 and 1, and grows with the owner's own requests", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.constantFrom("a", "b", "c"), fc.integer({ min: 0, max: 9 }))), (added) => {
      const queue = new OwnerCounts();
      for (const [owner, count] of added) queue.add(owner, count);
      const ahead = () => queue.shareAhead("a") * (queue.of("a") + queue.of("b") + queue.of("c"));
      const before = ahead();
      expect(queue.shareAhead("a")).toBeLessThanOrEqual(1);
      expect(before).toBeGreaterThanOrEqual(queue.of("a") - 1e-9);
      queue.add("a", 1);
      expect(ahead()).toBeGreaterThanOrEqual(before + 1 - 1e-9);
    }),
  );
});
