import fc from "fast-check";
import { expect, it, test } from "vitest";
import { OwnerQueue } from "../../../server/owner-queue.ts";

it("lets an owner's next one go behind its own, and of others behind one for each of these and one more", () => {
  const queue = new OwnerQueue();
  expect(queue.shareAhead("a")).toBe(1);
  queue.add("a", 10);
  expect(queue.shareAhead("a")).toBe(1);
  expect(queue.shareAhead("b")).toBeCloseTo(1 / 10);
  queue.add("b", 2);
  expect(queue.shareAhead("b")).toBeCloseTo((2 + 3) / 12);
  expect(queue.shareAhead("a")).toBe(1);
  queue.add("b", -2);
  expect([queue.of("b"), queue.ownersWith("a"), queue.ownersWith("b")]).toEqual([0, 1, 2]);
});

test("a share is within 0 and 1, and grows with what the owner has waiting itself", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.constantFrom("a", "b", "c"), fc.integer({ min: 0, max: 9 }))), (added) => {
      const queue = new OwnerQueue();
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
