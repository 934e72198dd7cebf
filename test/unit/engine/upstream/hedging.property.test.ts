import fc from "fast-check";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { RequestListener } from "../../../../engine/engine.ts";
import type { Tier } from "../../../../engine/protocol/request.ts";
import type { UpstreamEvent } from "../../../../engine/upstream/answer/event-reader.ts";
import { AttemptFailure } from "../../../../engine/upstream/attempt.ts";
import { Generation } from "../../../../engine/upstream/generation.ts";
import type { Visit } from "../../../../engine/upstream/replica/replica.ts";
import { UpstreamAccess } from "../../../../engine/upstream/upstream-access.ts";
import { UpstreamWork } from "../../../../engine/upstream/upstream-work.ts";
import { CONFIG, chat } from "./upstream-rig.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

/** Milliseconds of the 95th percentile, and of the longest wait in the events. */
const LATE_MS = 100;
/** Online requests before those of a run. */
const BEFORE = 300;
const turn = () => new Promise((resolve) => setImmediate(resolve));
const chunk = (content: string, finish: string | null = null): UpstreamEvent => {
  return { done: false, data: { choices: [{ index: 0, delta: { content }, finish_reason: finish }] } };
};

/** An answer that comes as it is told. What had come when the attempt was taken back is read all the same. */
class Answer {
  readonly #lists: (readonly UpstreamEvent[] | null)[] = [];
  readonly #signals: readonly AbortSignal[];
  #wake = () => {};
  over = false;

  constructor(signals: readonly AbortSignal[]) {
    this.#signals = signals;
    for (const signal of signals) signal.addEventListener("abort", () => this.#wake());
  }

  /** Null: it fails. */
  push(list: readonly UpstreamEvent[] | null): void {
    this.#lists.push(list);
    this.#wake();
  }

  async *read(): AsyncGenerator<readonly UpstreamEvent[]> {
    try {
      for (;;) {
        const list = this.#lists.shift();
        if (list === null) throw new AttemptFailure({ kind: "network", code: "ECONNRESET" });
        if (list !== undefined) yield list;
        if (list?.some(({ done }) => done)) return;
        if (list === undefined) for (const signal of this.#signals) signal.throwIfAborted();
        if (this.#lists.length === 0) {
          await new Promise<void>((resolve) => {
            this.#wake = resolve;
            if (this.#signals.some(({ aborted }) => aborted)) resolve();
          });
        }
      }
    } finally {
      this.over = true;
    }
  }
}

/** A request whose attempts get answers of a test. */
class ScriptedWork extends UpstreamWork {
  readonly answers: Answer[] = [];
  readonly #cancelled = new AbortController();

  override cancel(): void {
    super.cancel();
    this.#cancelled.abort(new Error("cancelled"));
  }

  override events({ withdrawn }: Visit): AsyncGenerator<readonly UpstreamEvent[]> {
    const answer = new Answer([this.#cancelled.signal, withdrawn]);
    this.answers.push(answer);
    return answer.read();
  }
}

/** A client's view of one request, and the ways to drive it. */
class Client {
  readonly work: ScriptedWork;
  readonly events: string[] = [];
  ended = false;
  cancelled = false;

  constructor(access: UpstreamAccess, tier: Tier) {
    const listener: RequestListener = {
      accepted: () => {},
      started: () => this.events.push("started"),
      output: ({ text, finish }) => this.events.push(...(text === "" ? [] : [text]), ...(finish ? ["finish"] : [])),
      failed: () => this.events.push("failed"),
      mayRestart: () => false,
    };
    const request = new Generation({
      ...{ access, listener, upstreamModel: "m", context: 1000, submission: chat("a", { tier }) },
      completionTokens: () => false,
      attemptFailed: () => {},
    });
    this.work = new ScriptedWork({ access, request, listener, ended: () => {} });
    void this.work.run().then(() => {
      this.ended = true;
    });
  }

  /** To the n-th attempt that goes on, with its number. */
  tell(nth: number, kind: "content" | "finish" | "failure" | "bare"): void {
    const open = this.work.answers.filter(({ over }) => !over);
    const answer = open[nth];
    if (answer === undefined) return;
    const name = `attempt ${this.work.answers.indexOf(answer)}`;
    if (kind === "content") answer.push([chunk(name)]);
    if (kind === "finish") answer.push([chunk(name), chunk("", "stop"), { done: true }]);
    if (kind === "failure") answer.push(null);
    // An answer without content.
    if (kind === "bare") answer.push([chunk("", "stop"), { done: true }]);
  }
}

const KINDS = ["content", "content", "finish", "failure", "bare"] as const;
const event = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant("submit" as const), priority: fc.nat(3).map((one) => one > 0) }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("wait" as const), ms: fc.constantFrom(1, LATE_MS) }) },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("tell" as const),
      at: fc.nat(2),
      told: fc.array(fc.tuple(fc.nat(1), fc.constantFrom(...KINDS)), { minLength: 1, maxLength: 3 }),
      cancel: fc.constantFrom(false, false, false, true),
    }),
  },
);

test("a client gets the outputs of one attempt and one end, whatever two attempts do at once", async () => {
  let hedgedInAll = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(event, { maxLength: 60, size: "max" }), async (events) => {
      const clock = { ms: 1000, now: () => clock.ms, epochMs: () => clock.ms };
      let ended = 0;
      let hedged = 0;
      const observer = {
        ended: () => void ended++,
        hedged: () => void hedged++,
        retried() {},
        estimated() {},
        dropped() {},
      };
      const log = { debug() {}, info() {}, warn() {}, error() {} };
      const replicas = ["http://a/v1", "http://b/v1"].map((url) => ({ url, weight: 1 }));
      const access = new UpstreamAccess(
        { ...CONFIG, kind: "vllm", hedge: true, replicas },
        { clock, log, observer, random: () => 0, randomId: () => "1" },
      );
      access.pause = () => Promise.resolve();
      const hedging = access.hedging!;
      for (let nth = 0; nth < 64; nth++) hedging.begun(1, LATE_MS);
      for (let nth = 0; nth < BEFORE; nth++) hedging.requested();
      for (const replica of access.replicas) {
        replica.healthy = true;
        replica.reported({ running: 0, waiting: 0, kvUsed: null, generatedTokens: null }, clock.ms);
      }
      const clients: Client[] = [];
      const open = () => clients.filter((client) => !client.ended);
      const sound = () => {
        expect(hedged * 50).toBeLessThanOrEqual(BEFORE + clients.length);
        for (const { events: seen } of clients) {
          expect(new Set(seen.filter((text) => text.startsWith("attempt"))).size).toBeLessThanOrEqual(1);
          const ends = seen.filter((text) => text === "finish" || text === "failed");
          expect(ends.length).toBeLessThanOrEqual(1);
          if (ends.length > 0) expect(seen.at(-1)).toBe(ends[0]);
          expect(seen.filter((text) => text === "started").length).toBeLessThanOrEqual(1);
        }
        for (const { requests, online } of access.replicas) expect([requests >= 0, online]).toEqual([true, requests]);
      };
      for (const one of events) {
        if (one.kind === "submit") clients.push(new Client(access, one.priority ? "priority" : "default"));
        if (one.kind === "wait") {
          clock.ms += one.ms;
          vi.advanceTimersByTime(one.ms);
        }
        if (one.kind === "tell") {
          // All of it within one turn of the event loop.
          const client = open().at(-1 - one.at);
          for (const [nth, kind] of one.told) client?.tell(nth, kind);
          if (one.cancel && client !== undefined) {
            client.cancelled = !client.work.over;
            client.work.cancel();
          }
        }
        await turn();
        sound();
      }
      for (let rounds = 0; open().length > 0; rounds++) {
        expect(rounds).toBeLessThan(20);
        for (const client of open()) client.tell(0, "finish");
        await turn();
      }
      sound();
      for (const { events: seen, cancelled } of clients) {
        expect(seen.some((text) => text === "finish" || text === "failed")).toBe(!cancelled);
      }
      expect(ended).toBe(clients.reduce((sum, { work }) => sum + work.answers.length, 0));
      expect(access.replicas.map(({ requests, tokens, online }) => [requests, tokens, online])).toEqual([
        [0, 0, 0],
        [0, 0, 0],
      ]);
      hedgedInAll += hedged;
      await access.close();
    }),
    { numRuns: 300 },
  );
  expect(hedgedInAll).toBeGreaterThan(100);
});
