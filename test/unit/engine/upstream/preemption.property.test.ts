import fc from "fast-check";
import { expect, test } from "vitest";
import { attempts } from "../../../../engine/upstream/attempts.ts";
import type { Visit } from "../../../../engine/upstream/replica/replica.ts";
import { UpstreamAccess } from "../../../../engine/upstream/upstream-access.ts";
import { CONFIG } from "./upstream-rig.ts";

const TIERS = ["priority", "default", "flex", "batch"] as const;
const event = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("submit" as const), tier: fc.constantFrom(...TIERS) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("finish" as const), at: fc.nat(20) }) },
  fc.record({ kind: fc.constant("cancel" as const), at: fc.nat(20) }),
  fc.record({ kind: fc.constant("report" as const), waiting: fc.nat(3) }),
  fc.record({ kind: fc.constant("wait" as const), ms: fc.nat(40_000) }),
);
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** One request, whose attempts last until they are told to end. */
class Request {
  readonly ended: Promise<string>;
  readonly abort = new AbortController();
  visits = 0;
  finish: (() => void) | null = null;
  outcome: string | null = null;

  constructor(access: UpstreamAccess, tier: (typeof TIERS)[number], seen: boolean) {
    const parts = {
      access,
      tier,
      tokens: 1,
      sequences: 1,
      blocks: [],
      hedge: null,
      signal: this.abort.signal,
      content: () => false,
    };
    const attempt = (visit: Visit) => this.#attempt(visit);
    this.ended = attempts({ ...parts, mayPreempt: () => !seen, attempt }).then((error) => {
      this.outcome = this.abort.signal.aborted ? "cancelled" : (error?.code ?? "ok");
      return this.outcome;
    });
  }

  #attempt({ withdrawn }: Visit): Promise<void> {
    this.visits++;
    return new Promise((resolve, reject) => {
      const stop = (signal: AbortSignal) => signal.addEventListener("abort", () => reject(signal.reason));
      stop(withdrawn);
      stop(this.abort.signal);
      this.finish = resolve;
    });
  }
}

test("each request ends once, whatever is preempted, and none is attempted more than three times", async () => {
  const slots = fc.option(fc.integer({ min: 1, max: 6 }));
  await fc.assert(
    fc.asyncProperty(slots, fc.array(event, { maxLength: 80 }), async (known, events) => {
      const clock = { ms: 0, now: () => clock.ms, epochMs: () => clock.ms };
      const observer = { ended() {}, retried() {}, hedged() {}, estimated() {}, dropped() {} };
      const log = { debug() {}, info() {}, warn() {}, error() {} };
      const access = new UpstreamAccess(
        { ...CONFIG, kind: "llama-server", replicas: [{ url: "http://a/v1", weight: 1 }] },
        { clock, log, observer, random: () => 0, randomId: () => "1" },
      );
      const replica = access.replicas[0]!;
      replica.healthy = true;
      replica.slots = known;
      const requests: Request[] = [];
      const open = () => requests.filter(({ outcome }) => outcome === null);
      for (const one of events) {
        if (one.kind === "submit") requests.push(new Request(access, one.tier, requests.length % 5 === 4));
        if (one.kind === "finish") open()[one.at]?.finish?.();
        if (one.kind === "cancel") open()[one.at]?.abort.abort();
        if (one.kind === "wait") clock.ms += one.ms;
        if (one.kind === "report") {
          replica.reported({ running: null, waiting: one.waiting, kvUsed: null, generatedTokens: null }, clock.ms);
          replica.limit.report({ waiting: one.waiting, online: replica.online, onlineTtftMs: null, objectiveMs: 1000 });
        }
        await turn();
        expect(replica.limit.inFlight).toBe(replica.lower.size);
        expect(replica.requests).toBe(replica.online + replica.lower.size);
      }
      while (open().length > 0) {
        clock.ms += 1000;
        access.gate.pump();
        await turn();
        for (const { finish } of open()) finish?.();
        await turn();
      }
      for (const { ended, abort, visits } of requests) {
        expect(await ended).toBe(abort.signal.aborted ? "cancelled" : "ok");
        expect(visits).toBeLessThanOrEqual(3);
      }
      expect([replica.requests, replica.tokens, replica.lower.size, access.gate.waiting]).toEqual([0, 0, 0, 0]);
      expect(replica.sequences).toBe(0);
      await access.close();
    }),
    { numRuns: 150 },
  );
});
