import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { RateConfig } from "../../../../../engine/upstream/dialect/upstream-config.ts";
import { RateCap, type RateUse } from "../../../../../engine/upstream/rate/rate-cap.ts";

const never = () => new AbortController().signal;

function setUp(config: Partial<RateConfig>) {
  const clock = { ms: 7, now: () => clock.ms };
  const cap = new RateCap({ requestsPerMinute: null, tokensPerMinute: null, ...config }, clock);
  const entered: string[] = [];
  const online = async (name: string, tokens = 1, signal = never()): Promise<RateUse> => {
    const use = await cap.enter(tokens, signal);
    entered.push(name);
    return use;
  };
  /** Takes what flex and batch get now. */
  const lower = (tokens = 1) => {
    let taken = 0;
    for (; cap.lowerWaitMs(tokens) === 0; taken++) cap.takeLower(tokens);
    return taken;
  };
  const pass = async (ms: number) => {
    clock.ms += ms;
    cap.pump();
    await Promise.resolve();
  };
  return { clock, cap, entered, online, lower, pass };
}

describe("the rate of an upstream", () => {
  it("lets in online requests up to its cap, and the others in their order when it is free again", async () => {
    const { cap, entered, online, pass } = setUp({ requestsPerMinute: 2 });
    for (const name of ["a", "b", "c", "d", "e"]) void online(name);
    await pass(0);
    expect(entered).toEqual(["a", "b"]);
    await pass(cap.onlineWaitMs(1) - 60_001);
    expect(entered).toEqual(["a", "b"]);
    await pass(2000);
    expect(entered).toEqual(["a", "b", "c", "d"]);
  });

  it("says how long a request waits: to the millisecond for the first", async () => {
    const { cap, entered, online, pass } = setUp({ requestsPerMinute: 5, tokensPerMinute: 1000 });
    await online("a", 900);
    const waitMs = cap.onlineWaitMs(101);
    expect(cap.onlineWaitMs(100)).toBe(0);
    void online("b", 101);
    await pass(waitMs - 1);
    expect(entered).toEqual(["a"]);
    await pass(1);
    expect(entered).toEqual(["a", "b"]);
  });

  it("counts those that wait before a request", async () => {
    const { cap, online, pass } = setUp({ requestsPerMinute: 2 });
    for (const name of ["a", "b", "c", "d"]) void online(name);
    await pass(0);
    expect(cap.onlineWaitMs(1)).toBeGreaterThan(120_000);
    expect(cap.onlineWaitMs(1)).toBeLessThan(122_000);
  });

  it("keeps a tenth free for online requests, which flex and batch do not get", async () => {
    const { entered, online, lower, pass } = setUp({ requestsPerMinute: 100 });
    expect(lower()).toBe(90);
    for (let i = 0; i < 10; i++) void online(`${i}`);
    await pass(0);
    expect(entered).toHaveLength(10);
  });

  it("keeps free what online requests used in their busiest minute of the last ten", async () => {
    const { online, lower, pass } = setUp({ requestsPerMinute: 100 });
    for (let i = 0; i < 40; i++) await online(`${i}`);
    expect(lower()).toBe(60);
    await pass(120_000);
    expect(lower()).toBe(60);
    await pass(600_000);
    expect(lower()).toBe(90);
  });

  it("gives flex and batch nothing while online requests wait", async () => {
    const { cap, entered, online, lower, pass } = setUp({ tokensPerMinute: 100 });
    expect(lower(10)).toBe(9);
    void online("long", 50);
    expect(lower(1)).toBe(0);
    await pass(70_000);
    expect(entered).toEqual(["long"]);
    expect(cap.lowerWaitMs(1)).toBe(0);
  });

  it("lets flex and batch in at the lowest cap", () => {
    expect(setUp({ requestsPerMinute: 1 }).lower()).toBe(1);
  });

  it("lets a request with more tokens than its cap in alone", async () => {
    const { entered, online, pass } = setUp({ tokensPerMinute: 100 });
    for (const name of ["a", "b"]) void online(name, 500);
    await pass(0);
    expect(entered).toEqual(["a"]);
    await pass(61_000);
    expect(entered).toEqual(["a", "b"]);
  });

  it("corrects estimates by what was counted, and takes back what was not sent", async () => {
    const { cap, online } = setUp({ requestsPerMinute: 2, tokensPerMinute: 100 });
    const use = await online("a", 100);
    expect(cap.onlineWaitMs(40)).toBeGreaterThan(0);
    use.settle(60);
    expect(cap.onlineWaitMs(40)).toBe(0);
    expect(cap.onlineWaitMs(41)).toBeGreaterThan(0);
    (await online("b", 40)).undo();
    expect(cap.onlineWaitMs(40)).toBe(0);
  });

  it("reserves more where answers exceed their estimates", async () => {
    const { clock, cap, online } = setUp({ tokensPerMinute: 1000 });
    for (let i = 0; i < 100; i++) {
      (await online("a", 10)).settle(510);
      clock.ms += 61_000;
    }
    await online("b", 490);
    expect(cap.onlineWaitMs(1)).toBeGreaterThan(0);
  });

  it("forgets a client that leaves", async () => {
    const { entered, online, pass } = setUp({ requestsPerMinute: 1 });
    await online("a");
    const abort = new AbortController();
    const left = online("b", 1, abort.signal);
    void online("c");
    abort.abort(new Error("left"));
    await expect(left).rejects.toThrow("left");
    await pass(61_000);
    expect(entered).toEqual(["a", "c"]);
  });

  it("never lets in more than its caps in any minute, and no batch before an online request that waits", async () => {
    const event = fc.oneof(
      fc.record({ kind: fc.constant("pass" as const), ms: fc.nat(20_000) }),
      fc.record({
        kind: fc.constantFrom("online" as const, "batch" as const),
        tokens: fc.integer({ min: 1, max: 50 }),
      }),
      fc.record({ kind: fc.constant("settle" as const), share: fc.double({ min: 0, max: 1, noNaN: true }) }),
    );
    const caps = fc.record({ requests: fc.integer({ min: 1, max: 20 }), tokens: fc.integer({ min: 50, max: 300 }) });
    await fc.assert(
      fc.asyncProperty(caps, fc.array(event, { maxLength: 200 }), async ({ requests, tokens }, events) => {
        const { clock, cap } = setUp({ requestsPerMinute: requests, tokensPerMinute: tokens });
        const sent: { at: number; tokens: number; use: RateUse }[] = [];
        let waiting = 0;
        for (const one of events) {
          if (one.kind === "pass") {
            clock.ms += one.ms;
            cap.pump();
          } else if (one.kind === "online") {
            waiting++;
            void cap.enter(one.tokens, never()).then((use) => {
              waiting--;
              sent.push({ at: clock.ms, tokens: one.tokens, use });
            });
          } else if (one.kind === "batch" && cap.lowerWaitMs(one.tokens) === 0) {
            expect(waiting).toBe(0);
            sent.push({ at: clock.ms, tokens: one.tokens, use: cap.takeLower(one.tokens) });
          } else if (one.kind === "settle" && sent.length > 0) {
            const last = sent.at(-1)!;
            last.tokens = Math.round(last.tokens * one.share);
            last.use.settle(last.tokens);
          }
          await Promise.resolve();
          await Promise.resolve();
          const minute = sent.filter(({ at }) => at > clock.ms - 60_000);
          expect(minute.length).toBeLessThanOrEqual(requests);
          expect(minute.reduce((sum, { tokens: used }) => sum + used, 0)).toBeLessThanOrEqual(tokens);
        }
      }),
    );
  });
});
