import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Breaker, type Outcome, type Passage } from "../../../../../engine/upstream/replica/breaker.ts";

/** A breaker with a clock that is set by hand. */
function setUp() {
  const clock = { ms: 1000, now: () => clock.ms };
  const breaker = new Breaker(clock);
  const run = (outcome: Outcome, lastReplica = false) => breaker.enter(lastReplica)!.end(outcome);
  const fail = (times: number) => {
    for (let i = 0; i < times; i++) run("failure");
  };
  return { clock, breaker, run, fail };
}

describe("Breaker", () => {
  it("opens at five failures in a row", () => {
    const { breaker, run, fail } = setUp();
    fail(4);
    run("success");
    fail(4);
    expect(breaker.state).toBe("closed");
    fail(1);
    expect(breaker.state).toBe("open");
    expect(breaker.enter(false)).toBeNull();
    expect(breaker.retryInMs).toBe(30_000);
  });

  it("stays closed where five failures take more than a minute", () => {
    const { clock, breaker, fail } = setUp();
    for (let i = 0; i < 20; i++, clock.ms += 15_001) fail(1);
    expect(breaker.state).toBe("closed");
    clock.ms += 1_000_000;
    fail(5);
    expect(breaker.state).toBe("open");
  });

  it("counts neutral outcomes for nothing", () => {
    const { breaker, run, fail } = setUp();
    for (let i = 0; i < 10; i++) run("neutral");
    fail(4);
    run("neutral");
    fail(1);
    expect(breaker.state).toBe("open");
  });

  it("lets one probe through at a time once its time is over", () => {
    const { clock, breaker, fail } = setUp();
    fail(5);
    clock.ms += 29_999;
    expect(breaker.enter(false)).toBeNull();
    clock.ms += 1;
    const probe = breaker.enter(false)!;
    expect(breaker.enter(false)).toBeNull();
    probe.end("neutral");
    expect(breaker.state).toBe("half-open");
    expect(breaker.admits(false)).toBe(true);
  });

  it("closes after two probes that succeed", () => {
    const { clock, breaker, run, fail } = setUp();
    fail(5);
    clock.ms += 30_000;
    run("success");
    expect(breaker.state).toBe("half-open");
    run("success");
    expect(breaker.state).toBe("closed");
    fail(4);
    expect(breaker.state).toBe("closed");
  });

  it("doubles its time with each failed probe up to five minutes, and begins anew once closed", () => {
    const { clock, breaker, run, fail } = setUp();
    const times: number[] = [];
    fail(5);
    for (let i = 0; i < 5; i++) {
      times.push(breaker.retryInMs);
      clock.ms += breaker.retryInMs;
      run("failure");
    }
    expect(times).toEqual([30_000, 60_000, 120_000, 240_000, 300_000]);
    clock.ms += 300_000;
    run("success");
    run("success");
    fail(5);
    expect(breaker.retryInMs).toBe(30_000);
  });

  it("begins the row of successes anew with each failure", () => {
    const { clock, breaker, run, fail } = setUp();
    fail(5);
    clock.ms += 30_000;
    run("success");
    run("failure");
    clock.ms += 60_000;
    run("success");
    expect(breaker.state).toBe("half-open");
  });

  it("tries the last replica one request at a time, whose failures do not prolong the time", () => {
    const { clock, breaker, run, fail } = setUp();
    fail(5);
    const first = breaker.enter(true)!;
    expect(breaker.enter(true)).toBeNull();
    clock.ms += 10_000;
    first.end("failure");
    expect(breaker.retryInMs).toBe(20_000);
    run("success", true);
    run("failure", true);
    run("success", true);
    expect(breaker.state).toBe("open");
    run("success", true);
    expect(breaker.state).toBe("closed");
  });

  it("does not count requests that began before it opened or closed", () => {
    const { clock, breaker, run, fail } = setUp();
    const old = Array.from({ length: 6 }, () => breaker.enter(false)!);
    fail(5);
    for (const passage of old.slice(0, 3)) passage.end("success");
    expect(breaker.state).toBe("open");
    clock.ms += 30_000;
    old[3]!.end("failure");
    expect(breaker.state).toBe("half-open");
    run("success");
    run("success");
    for (const passage of old.slice(4)) passage.end("failure");
    fail(4);
    expect(breaker.state).toBe("closed");
  });

  it("counts a request once, however often it ends", () => {
    const { breaker } = setUp();
    const passage = breaker.enter(false)!;
    for (let i = 0; i < 9; i++) passage.end("failure");
    expect(breaker.state).toBe("closed");
  });

  const outcome = fc.constantFrom<Outcome>("success", "failure", "neutral");
  const event = fc.oneof(
    fc.record({ kind: fc.constant("enter" as const), last: fc.boolean() }),
    fc.record({ kind: fc.constant("end" as const), which: fc.nat(), outcome }),
    fc.record({ kind: fc.constant("wait" as const), ms: fc.integer({ min: 0, max: 100_000 }) }),
  );

  it("holds its promises over any events", () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 300 }), (events) => {
        const { clock, breaker } = setUp();
        const open: { passage: Passage; state: string }[] = [];
        for (const one of events) {
          const before = breaker.state;
          if (one.kind === "wait") clock.ms += one.ms;
          if (one.kind === "enter") {
            const probes = open.filter(({ state }) => state !== "closed").length;
            const passage = breaker.enter(one.last);
            if (before === "closed") expect(passage).not.toBeNull();
            // An own last replica is never starved: a request passes unless another one is on its way.
            else if (one.last) expect(passage === null).toBe(probes > 0);
            if (before === "open" && !one.last) expect(passage).toBeNull();
            if (passage !== null) open.push({ passage, state: before });
          }
          if (one.kind === "end" && open.length > 0) {
            const [ended] = open.splice(one.which % open.length, 1);
            ended!.passage.end(one.outcome);
            if (one.outcome === "neutral") expect(breaker.state).toBe(before);
            // The outcome of a request from before decides nothing later.
            if (ended!.state === "closed" && before !== "closed") expect(breaker.state).toBe(before);
          }
          expect(open.filter(({ state }) => state !== "closed").length).toBeLessThanOrEqual(1);
          expect(breaker.retryInMs).toBeLessThanOrEqual(300_000);
        }
      }),
    );
  });
});
