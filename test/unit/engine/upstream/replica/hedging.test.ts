import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { Hedging } from "../../../../../engine/upstream/replica/hedging.ts";

function setUp() {
  const clock = { ms: 5, now: () => clock.ms };
  const hedging = new Hedging(clock);
  const measure = (promptTokens: number, count: number, ttftMs = (nth: number) => nth) => {
    for (let nth = 1; nth <= count; nth++) hedging.begun(promptTokens, ttftMs(nth));
  };
  const request = (count: number) => {
    for (let nth = 0; nth < count; nth++) hedging.requested();
  };
  const takeAll = () => {
    let taken = 0;
    for (; hedging.free; taken++) hedging.take();
    return taken;
  };
  return { clock, hedging, measure, request, takeAll };
}

describe("the delay of a second attempt", () => {
  it("is the 95th percentile of the latest times", () => {
    const { hedging, measure } = setUp();
    measure(10, 64);
    expect(hedging.delayMs(10)).toBe(61);
    measure(10, 64, (nth) => 1000 + nth);
    expect(hedging.delayMs(10)).toBe(1061);
  });

  it("is unknown before 32 times", () => {
    const { hedging, measure } = setUp();
    measure(10, 31);
    expect(hedging.delayMs(10)).toBeNull();
    measure(10, 1);
    expect(hedging.delayMs(10)).not.toBeNull();
  });

  it("is unknown once the times are ten minutes old", () => {
    const { clock, hedging, measure } = setUp();
    measure(10, 40);
    clock.ms += 600_000;
    expect(hedging.delayMs(10)).toBe(38);
    clock.ms += 1;
    measure(10, 31);
    expect(hedging.delayMs(10)).toBeNull();
  });

  test.each([
    [0, 256],
    [257, 2048],
    [2049, 16_384],
    [16_385, 1_000_000],
  ])("is the same for prompts of %i to %i tokens alone", (least, most) => {
    const { hedging, measure } = setUp();
    measure(least, 16);
    measure(most, 16);
    expect([least, most].map((tokens) => hedging.delayMs(tokens))).toEqual([16, 16]);
    for (const other of [least - 1, most + 1]) {
      if (other >= 0 && other <= 1_000_000) expect(hedging.delayMs(other)).toBeNull();
    }
  });
});

describe("the number of hedged requests", () => {
  it("is none at first, one for fifty requests, and ten at most at once", () => {
    const { request, takeAll } = setUp();
    request(49);
    expect(takeAll()).toBe(0);
    request(1);
    expect(takeAll()).toBe(1);
    request(10_000);
    expect(takeAll()).toBe(10);
  });

  it("is a fiftieth of the requests at most, in any order", () => {
    fc.assert(
      fc.property(fc.array(fc.option(fc.nat(200), { nil: "take" as const }), { maxLength: 60 }), (events) => {
        const { hedging, request } = setUp();
        let requests = 0;
        let taken = 0;
        for (const event of events) {
          if (event !== "take") {
            request(event);
            requests += event;
          } else if (hedging.free) {
            hedging.take();
            taken++;
          }
          expect(taken * 50).toBeLessThanOrEqual(requests);
        }
      }),
    );
  });
});
