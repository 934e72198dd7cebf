import { describe, expect, it, test } from "vitest";
import { Random } from "../../../../bench/base/random.ts";
import type { FakeUpstream } from "../../../upstream/fake-upstream.ts";
import type { Misbehaviour } from "../../../upstream/misbehaviour.ts";
import { CHAT, chat, fake, outcomeOf, run, upstreamOf } from "./upstream-rig.ts";

/** Misbehaves at its first requests. */
function first(upstream: FakeUpstream, ...wrongs: Misbehaviour[]) {
  upstream.script = () => wrongs.shift() ?? null;
}
const always = (upstream: FakeUpstream, wrong: Misbehaviour) => {
  upstream.script = () => wrong;
};
/** The same numbers in every run. */
function seeded(seed: number): () => number {
  const random = new Random(seed);
  return () => random.next();
}
const FAULT: Misbehaviour = { kind: "status", status: 500 };

describe("attempts of a request", () => {
  test.each<[string, Misbehaviour, string]>([
    ["500", FAULT, "fault"],
    ["503", { kind: "overloaded" }, "busy"],
    ["529", { kind: "status", status: 529 }, "busy"],
    ["a reset before the headers", { kind: "reset", after: "headers" }, "gone"],
    ["a reset before content", { kind: "reset", after: 0 }, "gone"],
    ["an in-band error before content", { kind: "in-band error", after: 0, event: { error: { code: 503 } } }, "busy"],
    ["half an event before content", { kind: "half chunk", after: 0 }, "fault"],
    ["a page", { kind: "not json" }, "fault"],
  ])("follow at another replica after %s", async (_, wrong, reason) => {
    const replicas = [await fake(), await fake()];
    const { engine, told } = await upstreamOf(replicas);
    first(replicas[0]!, wrong);
    first(replicas[1]!, wrong);
    // One of the two fails, the other one fails too; the third attempt is again at the first, which is well.
    expect(await outcomeOf(engine, chat("a b"))).toBe("a b");
    expect(replicas.map((one) => one.seen(CHAT).length).sort()).toEqual([1, 2]);
    expect(told.retried).toEqual([reason, reason]);
    await expect.poll(() => told.outcomes).toEqual([reason, reason, "ok"]);
  });

  it("end with the third", async () => {
    const upstream = await fake();
    const { engine, told } = await upstreamOf([upstream]);
    always(upstream, FAULT);
    expect(await outcomeOf(engine, chat("a"))).toBe("upstream_failed");
    expect(upstream.seen(CHAT)).toHaveLength(3);
    expect(told.outcomes).toEqual(["fault", "fault", "fault"]);
  });

  test.each<[string, Misbehaviour]>([
    ["in-band error", { kind: "in-band error", after: 1, event: { error: { code: 503 } } }],
    ["half chunk", { kind: "half chunk", after: 1 }],
    ["close", { kind: "close", after: 1 }],
    ["reset", { kind: "reset", after: 1 }],
  ])("are one where content was seen: %s", async (_, wrong) => {
    const upstream = await fake();
    const { engine, access } = await upstreamOf([upstream]);
    always(upstream, wrong);
    const work = run(engine, chat("a b"));
    expect(["upstream_failed", "upstream_unavailable"]).toContain((await work.ended)?.code);
    expect(work.texts).toEqual(["a"]);
    expect(upstream.seen(CHAT)).toHaveLength(1);
    expect(access.replicas[0]).toMatchObject({ requests: 0, tokens: 0, online: 0 });
  });

  test.each<[string, Misbehaviour, string]>([
    ["400", { kind: "status", status: 400 }, "upstream_refused"],
    ["401", { kind: "status", status: 401 }, "upstream_unavailable"],
    ["402", { kind: "status", status: 402 }, "upstream_unavailable"],
    ["a redirect", { kind: "redirect", to: "http://127.0.0.1:1/" }, "upstream_unavailable"],
  ])("are one after %s", async (_, wrong, code) => {
    const upstream = await fake();
    const { engine, access } = await upstreamOf([upstream]);
    always(upstream, wrong);
    expect(await outcomeOf(engine, chat("a"))).toBe(code);
    expect(upstream.seen(CHAT)).toHaveLength(1);
    expect(access.replicas[0]!.breaker.state).toBe("closed");
  });

  it("are bounded by a tenth of the requests", async () => {
    const upstream = await fake();
    const { engine, access } = await upstreamOf([upstream]);
    // The clock stands, so that ten retries are all that were saved up; each request adds a tenth.
    always(upstream, { kind: "overloaded" });
    for (let i = 0; i < 40; i++) await outcomeOf(engine, chat("a"));
    expect(upstream.seen(CHAT).length).toBe(40 + 10 + 4);
    expect(access.replicas[0]!.breaker.state).toBe("closed");
  });

  it("do not wait as one replica asks where another is there", async () => {
    const replicas = [await fake(), await fake()];
    const { engine } = await upstreamOf(replicas);
    const busy: Misbehaviour = { kind: "status", status: 429, headers: { "retry-after": "60" } };
    for (const one of replicas)
      one.script = () => (replicas.some((other) => other.seen(CHAT).length > 1) ? null : busy);
    // The first one asks for a minute: the second is tried at once, and then none is left.
    const error = await run(engine, chat("a")).ended;
    expect(error).toMatchObject({ code: "server_is_overloaded", status: 503, retryAfter: 60 });
    expect(replicas.map((one) => one.seen(CHAT).length)).toEqual([1, 1]);
  });

  it("end with their client while they wait for the next", async () => {
    const { access } = await upstreamOf([await fake()]);
    const abort = new AbortController();
    const pause = access.pause(3_600_000, abort.signal);
    abort.abort();
    await pause;
  });

  it("send no priority after an upstream has refused one", async () => {
    const upstream = await fake({ priority: false });
    const { engine } = await upstreamOf([upstream], { priority: "vllm" });
    expect(await outcomeOf(engine, chat("a", { tier: "flex" }))).toBe("a");
    expect(await outcomeOf(engine, chat("b", { tier: "batch" }))).toBe("b");
    expect(upstream.seen(CHAT).map(({ body }) => Object(body).priority)).toEqual([10, undefined, undefined]);
  });

  it("count neither a client that left nor its request for the breaker", async () => {
    const upstream = await fake();
    const { engine, access, told } = await upstreamOf([upstream]);
    always(upstream, { kind: "stall", after: 1 });
    for (let i = 0; i < 6; i++) {
      const { ticket, begun } = run(engine, chat("a b"));
      await begun;
      ticket.cancel();
    }
    for (const seen of upstream.seen(CHAT)) expect(await seen.closed).toBe("aborted");
    await expect.poll(() => told.outcomes).toEqual(Array(6).fill("cancelled"));
    expect(access.replicas[0]).toMatchObject({ requests: 0, tokens: 0 });
    expect(access.replicas[0]!.breaker.state).toBe("closed");
  });
});

describe("two replicas", () => {
  it("take all requests of one that breaks them off, whose breaker opens at the fifth failure", async () => {
    const [a, b] = [await fake(), await fake()];
    const { engine, access, clock, told } = await upstreamOf([a, b]);
    // It lists its models still.
    always(a, { kind: "reset", after: "headers" });
    for (let i = 0; i < 30; i++) expect(await outcomeOf(engine, chat(`n ${i}`))).toBe(`n ${i}`);
    const [gone, there] = access.replicas;
    expect(gone!.breaker.state).toBe("open");
    expect(there!.breaker.state).toBe("closed");
    expect(b.seen(CHAT)).toHaveLength(30);
    expect(told.outcomes.filter((outcome) => outcome === "gone")).toHaveLength(5);
    a.script = () => null;
    clock.ms += 30_000;
    for (let i = 0; i < 30 && gone!.breaker.state !== "closed"; i++) await outcomeOf(engine, chat("again"));
    expect(gone!.breaker.state).toBe("closed");
    expect(a.seen(CHAT).length).toBeGreaterThan(5);
  });

  it("fail no request that has shown nothing when one is killed under load", async () => {
    const [a, b] = [await fake(), await fake()];
    const { engine, access, clock, told } = await upstreamOf([a, b], {}, { random: seeded(7) });
    // Some of the answers have begun at the first replica; all hang there until it is killed.
    a.script = () => ({ kind: "stall", after: a.seen(CHAT).length % 3 === 0 ? 1 : "headers" });
    const works = Array.from({ length: 192 }, (_, nth) => run(engine, chat(`load ${nth}`)));
    await expect.poll(() => a.seen(CHAT).length).toBe(96);
    const shown = () => works.filter(({ texts }) => texts[0] === "load").length;
    await expect.poll(shown).toBeGreaterThan(0);
    await a.stop();
    for (const work of works) {
      const error = await work.ended;
      if (error !== null) expect([work.texts[0], error.status >= 502]).toEqual(["load", true]);
      else expect(work.texts[0]).toMatch(/^load \d+$/);
    }
    await expect
      .poll(() => access.replicas.map(({ requests, tokens }) => [requests, tokens]))
      .toEqual([
        [0, 0],
        [0, 0],
      ]);
    // The clock has stood still since.
    expect(access.replicas[0]!.breaker.state).toBe("open");
    const before = told.outcomes.length;
    const after = await Promise.all(Array.from({ length: 30 }, () => outcomeOf(engine, chat("after"))));
    expect(new Set(after)).toEqual(new Set(["after"]));
    await expect.poll(() => told.outcomes.slice(before)).toEqual(Array(30).fill("ok"));
    a.script = () => null;
    await a.restart();
    clock.ms += 30_000;
    await expect.poll(() => access.replicas[0]!.healthy, { timeout: 30_000 }).toBe(true);
    const seen = a.seen(CHAT).length;
    while (a.seen(CHAT).length < seen + 2) expect(await outcomeOf(engine, chat("back"))).toBe("back");
    await expect.poll(() => access.replicas[0]!.breaker.state).toBe("closed");
  }, 60_000);

  it("have few retries where both break off all connections", async () => {
    const replicas = [await fake(), await fake()];
    const { engine } = await upstreamOf(replicas, {}, { random: seeded(7) });
    for (const one of replicas) always(one, { kind: "reset", after: "headers" });
    const works = Array.from({ length: 200 }, () => run(engine, chat("a")));
    for (const { ended } of works) expect((await ended)?.code).toBe("upstream_unavailable");
    // Five of each replica until its breaker opens, and ten and a tenth of the requests from the budget.
    expect(replicas.reduce((sum, one) => sum + one.seen(CHAT).length, 0)).toBeLessThanOrEqual(200 + 10 + 10 + 20);
  });

  it("are both tried, one request at a time, where both breakers are open", async () => {
    const [a, b] = [await fake(), await fake()];
    const { engine, access } = await upstreamOf([a, b]);
    for (const one of [a, b]) always(one, FAULT);
    while (access.replicas.some(({ breaker }) => breaker.state === "closed")) await outcomeOf(engine, chat("a"));
    for (const one of [a, b]) one.script = () => null;
    expect(await outcomeOf(engine, chat("b"))).toBe("b");
  });
});

describe("connections", () => {
  it("serve one request after another", async () => {
    const upstream = await fake();
    const { engine } = await upstreamOf([upstream]);
    for (let i = 0; i < 20; i++) await outcomeOf(engine, chat(`count ${i + 1}`));
    for (const seen of upstream.seen(CHAT)) expect(await seen.closed).toBe("ended");
    expect(new Set(upstream.seen(CHAT).map(({ port }) => port)).size).toBeLessThan(4);
  });
});
