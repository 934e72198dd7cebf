import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { AttemptFailure } from "../../../../engine/upstream/attempt.ts";
import type { UpstreamConfig } from "../../../../engine/upstream/dialect/upstream-config.ts";
import { hedgedOutcome } from "../../../../engine/upstream/hedged-outcome.ts";
import type { Visit } from "../../../../engine/upstream/replica/replica.ts";
import { UpstreamAccess } from "../../../../engine/upstream/upstream-access.ts";
import { CONFIG } from "./upstream-rig.ts";

/** Milliseconds of the 95th percentile. */
const LATE_MS = 100;
const PROMPT_TOKENS = 10;
const turn = () => new Promise((resolve) => setImmediate(resolve));

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
});

interface Running {
  visit: Visit;
  end(): void;
  fail(error: unknown): void;
}

/** One request at the first of some idle replicas, whose attempts do as they are told. */
async function setUp(urls: readonly string[] = ["a", "b"], config: Partial<UpstreamConfig> = {}) {
  const clock = { ms: 1000, now: () => clock.ms, epochMs: () => clock.ms };
  const told = { outcomes: [] as string[], hedged: [] as string[] };
  const observer = {
    ended: (_: string, outcome: string) => void told.outcomes.push(outcome),
    hedged: (_: string, result: string) => void told.hedged.push(result),
    ...{ retried() {}, estimated() {}, dropped() {} },
  };
  const log = { debug() {}, info() {}, warn() {}, error() {} };
  const replicas = urls.map((url) => ({ url, weight: 1 }));
  const access = new UpstreamAccess(
    { ...CONFIG, hedge: true, replicas, ...config },
    { clock, log, observer, random: () => 0, randomId: () => "1" },
  );
  onTestFinished(() => access.close());
  for (const replica of access.replicas) {
    replica.healthy = true;
    replica.reported({ running: 0, waiting: 0, kvUsed: null, generatedTokens: null }, clock.ms);
    replica.limit.report({ waiting: 0, online: 0, onlineTtftMs: null, objectiveMs: 1000 });
  }
  for (let nth = 0; nth < 32; nth++) access.hedging!.begun(PROMPT_TOKENS, LATE_MS);
  for (let nth = 0; nth < 50; nth++) access.hedging!.requested();
  const request = { tier: "priority" as const, tokens: 20, sequences: 1, blocks: [] };
  const abort = new AbortController();
  const first = await access.gate.enter(
    { ...request, avoid: new Set(), preempted: false, mayPreempt: () => false },
    abort.signal,
  );
  const running: Running[] = [];
  const attempt = (visit: Visit) =>
    new Promise<void>((end, fail) => {
      running.push({ visit, end, fail });
      for (const signal of [visit.withdrawn, abort.signal]) {
        signal.addEventListener("abort", () => fail(signal.reason));
      }
    });
  const start = (mayHedge = true) =>
    hedgedOutcome(first, {
      access,
      ...request,
      hedge: { promptTokens: PROMPT_TOKENS, mayHedge },
      signal: abort.signal,
      content: () => false,
      attempt,
    });
  const wait = async (ms: number) => {
    clock.ms += ms;
    vi.advanceTimersByTime(ms);
    await turn();
  };
  return { access, clock, told, running, abort, first, start, wait };
}

type Step = "late" | "cancel" | `${"first" | "second"} ${"begins" | "ends" | "fails" | "throws"}`;

/** @return the kind of the outcome, or the message of the error */
async function outcomeAfter(steps: readonly Step[], parts: Awaited<ReturnType<typeof setUp>>): Promise<string> {
  const { running, abort, start, wait } = parts;
  const outcome = start().then(
    ({ kind }) => kind,
    ({ message }: Error) => message,
  );
  for (const step of steps) {
    const [name, event] = step.split(" ");
    const one = running[name === "first" ? 0 : 1];
    if (step === "late") await wait(LATE_MS);
    if (step === "cancel") abort.abort();
    if (event === "begins") one!.visit.claim();
    if (event === "ends") one!.end();
    if (event === "fails") one!.fail(new AttemptFailure({ kind: "network", code: "ECONNRESET" }));
    if (event === "throws") one!.fail(new Error("a fault"));
    await turn();
  }
  return outcome;
}

describe("a request that shows nothing", () => {
  test.each<[Step[], string, string[], string[]]>([
    [["first begins", "late", "first ends"], "ok", ["ok"], []],
    [["first fails", "late"], "failed", ["gone"], []],
    [["cancel", "late"], "cancelled", ["cancelled"], []],
    [["late", "second begins", "second ends"], "ok", ["cancelled", "ok"], ["second"]],
    [["late", "first begins", "first ends"], "ok", ["cancelled", "ok"], ["first"]],
    [["late", "first fails", "second begins", "second ends"], "ok", ["gone", "ok"], ["second"]],
    [["late", "second fails", "first begins", "first ends"], "ok", ["gone", "ok"], ["first"]],
    [["late", "first fails", "second fails"], "failed", ["gone", "gone"], ["neither"]],
    [["late", "second fails", "first fails"], "failed", ["gone", "gone"], ["neither"]],
    [["late", "cancel"], "cancelled", ["cancelled", "cancelled"], ["neither"]],
    [["late", "first fails", "cancel"], "cancelled", ["gone", "cancelled"], ["neither"]],
    [["late", "second begins", "second fails"], "failed", ["cancelled", "gone"], ["second"]],
    [["late", "second begins", "cancel"], "cancelled", ["cancelled", "cancelled"], ["second"]],
    [["late", "second begins", "second throws"], "a fault", ["cancelled"], ["second"]],
    [["late", "first throws"], "a fault", ["cancelled"], ["neither"]],
  ])("and then %j: %s", async (steps, outcome, outcomes, hedged) => {
    const parts = await setUp();
    expect(await outcomeAfter(steps, parts)).toBe(outcome);
    expect(parts.told).toEqual({ outcomes, hedged });
    expect(parts.access.replicas.map(({ requests, tokens, online }) => [requests, tokens, online])).toEqual([
      [0, 0, 0],
      [0, 0, 0],
    ]);
    expect(parts.access.replicas.map(({ breaker }) => breaker.state)).toEqual(["closed", "closed"]);
    // Nothing is left that would start another one.
    await parts.wait(10 * LATE_MS);
    expect(parts.running).toHaveLength(steps.indexOf("late") === 0 ? 2 : 1);
  });

  test("has its second attempt at the other replica, while its first goes on", async () => {
    const { running, start, wait } = await setUp(["a", "b", "c"]);
    void start();
    await wait(LATE_MS - 1);
    expect(running).toHaveLength(1);
    await wait(1);
    expect(running.map(({ visit }) => visit.replica.url)).toEqual(["a", "b"]);
    expect(running[0]!.visit.withdrawal).toBeNull();
    running[1]!.visit.claim();
    expect(running[0]!.visit.withdrawal).toBe("outrun");
    expect(() => running[0]!.visit.claim()).toThrow();
  });

  test("is measured from its first attempt on, whichever has the content", async () => {
    const { access, running, start, wait } = await setUp();
    void start();
    await wait(LATE_MS);
    await wait(50);
    for (let nth = 0; nth < 63; nth++) access.hedging!.begun(PROMPT_TOKENS, 1);
    running[1]!.visit.claim();
    expect(access.hedging!.delayMs(PROMPT_TOKENS)).toBe(1);
    for (let nth = 0; nth < 3; nth++) access.hedging!.begun(PROMPT_TOKENS, 1000);
    expect(access.hedging!.delayMs(PROMPT_TOKENS)).toBe(150);
  });

  test("has the rate back that the slower attempt had reserved for its answer", async () => {
    const rate = { requestsPerMinute: null, tokensPerMinute: 1000 };
    const { access, running, start, wait } = await setUp(["a", "b"], { rate });
    void start();
    await wait(LATE_MS);
    // Twenty tokens each.
    expect(access.rate.onlineWaitMs(960)).toBe(0);
    expect(access.rate.onlineWaitMs(961)).toBeGreaterThan(0);
    running[1]!.visit.claim();
    expect(access.rate.onlineWaitMs(970)).toBe(0);
    expect(access.rate.onlineWaitMs(971)).toBeGreaterThan(0);
  });
});

type Parts = Awaited<ReturnType<typeof setUp>>;
const report = ({ access, clock }: Parts, waiting: number | null) => {
  access.replicas[1]!.reported({ running: 0, waiting, kvUsed: null, generatedTokens: null }, clock.ms);
};

describe("no second attempt is made", () => {
  test.each<[string, (parts: Parts) => void]>([
    ["once too many requests were hedged", ({ access }) => access.hedging!.take()],
    ["where the other replica is away", ({ access }) => (access.replicas[1]!.healthy = false)],
    ["where the other replica reports a queue", (parts) => report(parts, 1)],
    ["where the other replica does not tell its queue", (parts) => report(parts, null)],
    ["where the other replica's last report is stale", ({ clock }) => (clock.ms += 5001)],
    ["where the slots of the other replica are taken", ({ access }) => (access.replicas[1]!.slots = 0)],
    [
      "where the breaker of the other replica is not closed",
      ({ access }) => {
        for (let nth = 0; nth < 5; nth++) access.replicas[1]!.breaker.enter(false)?.end("failure");
      },
    ],
  ])("%s", async (_, change) => {
    const parts = await setUp();
    change(parts);
    void parts.start();
    await parts.wait(LATE_MS);
    expect(parts.running).toHaveLength(1);
  });

  test("while the upstream reports that little is left of its limits", async () => {
    const { access, running, start, wait } = await setUp();
    const left: Record<string, string> = { "x-ratelimit-remaining-requests": "1", "x-ratelimit-limit-requests": "100" };
    access.rate.answered((name) => ({ ...left, "x-ratelimit-reset-requests": "60s" })[name] ?? null);
    void start();
    await wait(LATE_MS);
    expect(running).toHaveLength(1);
  });

  test("of a request that may not be hedged", async () => {
    const { running, start, wait } = await setUp();
    void start(false);
    await wait(LATE_MS);
    expect(running).toHaveLength(1);
  });

  test("at the only replica", async () => {
    const { running, start, wait } = await setUp(["a"]);
    void start();
    await wait(LATE_MS);
    expect(running).toHaveLength(1);
  });

  test.each([
    [{ requestsPerMinute: 1, tokensPerMinute: null }, 1],
    [{ requestsPerMinute: 2, tokensPerMinute: null }, 2],
    [{ requestsPerMinute: null, tokensPerMinute: 39 }, 1],
    [{ requestsPerMinute: null, tokensPerMinute: 40 }, 2],
  ])("beyond a rate of %o: %i", async (rate, attempts) => {
    const { running, start, wait } = await setUp(["a", "b"], { rate });
    void start();
    await wait(LATE_MS);
    expect(running).toHaveLength(attempts);
  });
});
