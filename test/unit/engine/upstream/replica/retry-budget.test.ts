import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { RetryBudget, retryDelayMs } from "../../../../../engine/upstream/replica/retry-budget.ts";

function setUp() {
  const clock = { ms: 5, now: () => clock.ms };
  const budget = new RetryBudget(clock);
  const takeAll = () => {
    let taken = 0;
    while (budget.take()) taken++;
    return taken;
  };
  const request = (times: number) => {
    for (let i = 0; i < times; i++) budget.requested();
  };
  return { clock, budget, takeAll, request };
}

describe("RetryBudget", () => {
  it("has a floor without traffic, which comes back by the second", () => {
    const { clock, takeAll } = setUp();
    expect(takeAll()).toBe(10);
    clock.ms += 3000;
    expect(takeAll()).toBe(3);
    clock.ms += 1_000_000;
    expect(takeAll()).toBe(10);
  });

  it("adds one retry for ten requests, and saves a hundred at most", () => {
    const { takeAll, request } = setUp();
    takeAll();
    request(30);
    expect(takeAll()).toBe(3);
    request(5000);
    expect(takeAll()).toBe(100);
  });

  it("gives no more than a tenth of the requests beside the floor, in any order", () => {
    const event = fc.oneof(fc.constant("request"), fc.constant("retry"), fc.nat(2000));
    fc.assert(
      fc.property(fc.array(event, { maxLength: 1000 }), (events) => {
        const { clock, budget } = setUp();
        let [requests, retries] = [0, 0];
        for (const one of events) {
          if (typeof one === "number") clock.ms += one;
          else if (one === "request") {
            budget.requested();
            requests++;
          } else if (budget.take()) retries++;
          expect(retries).toBeLessThanOrEqual(requests / 10 + 10 + clock.ms / 1000 + 1e-6);
        }
      }),
    );
  });
});

test.each([
  [1, 0, null, 0],
  [1, 1, null, 50],
  [2, 1, null, 100],
  [2, 0.5, null, 50],
  [3, 1, null, 200],
  [60, 1, null, 5000],
  [1, 0.5, 2000, 2025],
])("retry %d at random %d, where %s ms were asked for, waits %d ms", (retry, random, after, expected) => {
  expect(retryDelayMs(retry, random, after)).toBe(expected);
});
