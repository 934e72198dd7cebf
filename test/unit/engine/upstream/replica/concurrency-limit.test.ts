import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  ConcurrencyLimit,
  type Place,
  type ReplicaReport,
} from "../../../../../engine/upstream/replica/concurrency-limit.ts";

const REPORT: ReplicaReport = { waiting: 0, online: 0, onlineTtftMs: null, objectiveMs: 500 };

/** @param first both limits, where they are not the usual ones */
function setUp(first?: number) {
  const clock = { ms: 0, now: () => clock.ms };
  const limit = new ConcurrencyLimit(clock, first === undefined ? undefined : { alone: first, beside: first });
  const fill = () => {
    const places: Place[] = [];
    for (let place = limit.enter(); place !== null; place = limit.enter()) places.push(place);
    return places;
  };
  /** Answers as many requests as the limit was, all in flight at once, in `ms` milliseconds each. */
  const window = (ms = 1000) => {
    const places = fill();
    clock.ms += ms;
    for (const place of places) place.end("clean");
  };
  const reports = (times: number, report: Partial<ReplicaReport>) => {
    for (let i = 0; i < times; i++, clock.ms += 1000) limit.report({ ...REPORT, ...report });
  };
  return { clock, limit, fill, window, reports };
}

describe("ConcurrencyLimit", () => {
  it("grows by one after as many clean answers as the limit", () => {
    const { limit, window } = setUp();
    expect(limit.limit).toBe(8);
    window();
    expect(limit.limit).toBe(9);
    window();
    expect(limit.limit).toBe(10);
  });

  it("is another one from an online request on until 30 s after the last, and each keeps its value", () => {
    const { clock, limit, window } = setUp();
    limit.online();
    expect(limit.limit).toBe(2);
    window(0);
    expect(limit.limit).toBe(3);
    clock.ms += 29_999;
    limit.online();
    clock.ms += 29_999;
    expect(limit.limit).toBe(3);
    clock.ms += 1;
    expect(limit.limit).toBe(8);
    window(0);
    expect(limit.limit).toBe(9);
    limit.online();
    expect(limit.limit).toBe(3);
  });

  it("tells both limits, whichever holds, and begins with those that it is given", () => {
    const { clock, limit, window } = setUp();
    expect(limit.limits).toEqual({ alone: 8, beside: 2 });
    window(0);
    limit.online();
    window(0);
    expect(limit.limits).toEqual({ alone: 9, beside: 3 });
    const next = new ConcurrencyLimit(clock, limit.limits);
    expect(next.limit).toBe(9);
    next.online();
    expect(next.limit).toBe(3);
    clock.ms += 30_000;
    expect(limit.limits).toEqual({ alone: 9, beside: 3 });
  });

  it("does not grow for 10 s after online requests were late, nor for 5 s while they nearly are", () => {
    const { clock, limit, window, reports } = setUp();
    const grows = () => {
      const before = limit.limit;
      window(0);
      return limit.limit > before;
    };
    reports(1, { online: 1, onlineTtftMs: 501 });
    expect(grows()).toBe(false);
    clock.ms += 9000;
    limit.report({ ...REPORT, online: 1, onlineTtftMs: 100 });
    expect(grows()).toBe(true);
    limit.report({ ...REPORT, online: 1, onlineTtftMs: 401 });
    expect(grows()).toBe(false);
    clock.ms += 4999;
    limit.report(REPORT);
    expect(grows()).toBe(false);
    clock.ms += 1;
    expect(grows()).toBe(true);
  });

  it("holds where the limit was not reached", () => {
    const { limit } = setUp();
    for (let i = 0; i < 100; i++) {
      const two = [limit.enter()!, limit.enter()!];
      for (const place of two) place.end("clean");
    }
    expect(limit.limit).toBe(8);
  });

  it("holds where the limit was reached before it changed, and not since", () => {
    const { limit, fill, window } = setUp();
    const clean = (times: number) => {
      for (let i = 0; i < times; i++) limit.enter()!.end("clean");
    };
    window();
    clean(50);
    expect(limit.limit).toBe(9);
    for (const [nth, place] of fill().entries()) place.end(nth === 0 ? "busy" : "other");
    expect(limit.limit).toBe(4);
    clean(50);
    expect(limit.limit).toBe(4);
  });

  it("counts clean answers anew after a refusal", () => {
    const { clock, limit, fill } = setUp();
    clock.ms = 5000;
    for (const [nth, place] of fill().entries()) place.end(nth === 0 ? "busy" : "other");
    const four = fill();
    for (const place of four.slice(0, 3)) place.end("clean");
    limit.enter()!.end("busy");
    four[3]!.end("clean");
    expect(limit.limit).toBe(4);
  });

  it("holds while requests wait at the replica", () => {
    const { limit, window, reports } = setUp();
    reports(1, { waiting: 1 });
    for (let i = 0; i < 9; i++) window(0);
    expect(limit.limit).toBe(8);
  });

  it("holds while its reports are stale", () => {
    const { clock, limit, window, reports } = setUp();
    reports(1, {});
    window(0);
    expect(limit.limit).toBe(9);
    clock.ms += 5000;
    expect(limit.stale).toBe(true);
    window(0);
    expect(limit.limit).toBe(9);
  });

  it("grows where a replica never says how many wait", () => {
    const { clock, limit, window, reports } = setUp();
    reports(1, { waiting: null });
    clock.ms += 100_000;
    expect(limit.stale).toBe(false);
    window(0);
    expect(limit.limit).toBe(9);
  });

  it("halves what is in flight once per round trip, however many are refused", () => {
    const { clock, limit, window, fill } = setUp(64);
    window(10_000);
    const refused = fill();
    for (const place of refused) place.end("busy");
    expect(limit.limit).toBe(32);
    clock.ms += 9999;
    limit.enter()!.end("busy");
    expect(limit.limit).toBe(32);
    clock.ms += 1;
    for (const place of fill().slice(0, 5)) place.end("busy");
    expect(limit.limit).toBe(16);
  });

  it("halves from what is in flight where the limit was not reached", () => {
    const { limit } = setUp(64);
    const ten = Array.from({ length: 10 }, () => limit.enter()!);
    ten[0]!.end("busy");
    expect(limit.limit).toBe(5);
  });

  it("pauses for as long as a refusal asks", () => {
    const { clock, limit } = setUp();
    limit.enter()!.end("busy", 7000);
    expect(limit.pausedMs).toBe(7000);
    expect(limit.enter()).toBeNull();
    clock.ms += 7000;
    expect(limit.enter()).not.toBeNull();
  });

  it("halves when requests wait beside online work in three reports in a row", () => {
    const { limit, fill, reports } = setUp(40);
    fill();
    reports(2, { waiting: 1, online: 1 });
    reports(1, { waiting: 0, online: 1 });
    reports(2, { waiting: 1, online: 1 });
    expect(limit.limit).toBe(40);
    reports(1, { waiting: 1, online: 1 });
    expect(limit.limit).toBe(20);
  });

  it("leaves a short queue without online work, and halves over a long one", () => {
    const { limit, fill, reports } = setUp(40);
    fill();
    reports(9, { waiting: 10 });
    expect(limit.limit).toBe(40);
    reports(3, { waiting: 11 });
    expect(limit.limit).toBe(20);
  });

  it("halves when the TTFT of online work leaves its objective", () => {
    const { limit, fill, reports } = setUp(40);
    fill();
    reports(1, { online: 1, onlineTtftMs: 500 });
    expect(limit.limit).toBe(40);
    reports(1, { online: 1, onlineTtftMs: 501 });
    expect(limit.limit).toBe(20);
  });

  it("keeps its limit where nothing of it is in flight", () => {
    const { limit, reports } = setUp(40);
    reports(9, { waiting: 50, online: 50, onlineTtftMs: 9000 });
    expect(limit.limit).toBe(40);
  });

  const event = fc.oneof(
    fc.constant({ kind: "enter" as const }),
    fc.record({
      kind: fc.constant("end" as const),
      ending: fc.constantFrom("clean" as const, "busy" as const, "other" as const),
      retryAfterMs: fc.option(fc.integer({ min: 0, max: 60_000 })),
    }),
    fc.record({
      kind: fc.constant("report" as const),
      waiting: fc.option(fc.nat(100)),
      online: fc.nat(3),
      onlineTtftMs: fc.option(fc.nat(2000)),
    }),
    fc.record({ kind: fc.constant("wait" as const), ms: fc.nat(20_000) }),
  );

  it("stays within 1 and 512 and admits no more than the limit, over any events", () => {
    const initial = fc.integer({ min: 1, max: 512 });
    fc.assert(
      fc.property(initial, fc.array(event, { maxLength: 400 }), (first, events) => {
        const { clock, limit } = setUp(first);
        const places: Place[] = [];
        for (const one of events) {
          if (one.kind === "wait") clock.ms += one.ms;
          if (one.kind === "report") limit.report({ ...one, objectiveMs: 1000 });
          if (one.kind === "end") {
            const place = places.shift();
            place?.end(one.ending, one.retryAfterMs);
            place?.end("busy", 60_000);
          }
          if (one.kind === "enter") {
            const may = limit.inFlight < limit.limit && limit.pausedMs === 0;
            const place = limit.enter();
            expect(place !== null).toBe(may);
            if (place !== null) places.push(place);
          }
          expect(limit.limit).toBeGreaterThanOrEqual(1);
          expect(limit.limit).toBeLessThanOrEqual(512);
          expect(Number.isInteger(limit.limit)).toBe(true);
          expect(limit.inFlight).toBe(places.length);
        }
      }),
    );
  });
});
