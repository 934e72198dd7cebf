import { describe, expect, it } from "vitest";
import type { Tier } from "../../../../../engine/protocol/request.ts";
import { NO_CAPS } from "../../../../../engine/upstream/dialect/upstream-config.ts";
import { RateCap } from "../../../../../engine/upstream/rate/rate-cap.ts";
import { Gate } from "../../../../../engine/upstream/replica/gate.ts";
import { Placement } from "../../../../../engine/upstream/replica/placement.ts";
import { Replica, type Visit } from "../../../../../engine/upstream/replica/replica.ts";

/** Replicas, all healthy, and requests that note when they enter. */
function setUp(urls: readonly string[] = ["a"]) {
  const clock = { ms: 1000, now: () => clock.ms };
  const replicas = urls.map((url) => new Replica(url, clock));
  for (const replica of replicas) replica.healthy = true;
  const gate = new Gate("up", replicas, new Placement(() => 0), new RateCap(NO_CAPS, clock));
  const entered: string[] = [];
  const visits: Visit[] = [];
  const enter = (tier: Tier, name: string = tier, signal = new AbortController().signal, avoid = new Set<string>()) =>
    gate
      .enter({ tier, tokens: 10, sequences: 1, blocks: [], avoid, preempted: false, mayPreempt: () => false }, signal)
      .then(
        (visit) => {
          entered.push(name);
          visits.push(visit);
          return visit;
        },
        (error: unknown) => {
          throw error;
        },
      );
  /** Fills the limit of eight requests with flex. */
  const fill = async () => {
    for (let i = 0; i < 8; i++) await enter("flex", "filler");
    entered.length = 0;
  };
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  return { clock, replicas, gate, entered, visits, enter, fill, turn };
}

describe("Gate", () => {
  it("lets online requests in at once, also over the limit", async () => {
    const { enter, fill, gate, entered, replicas } = setUp();
    await fill();
    await Promise.all([enter("default"), enter("priority")]);
    expect(entered).toEqual(["default", "priority"]);
    expect(gate.waiting).toBe(0);
    expect(replicas[0]).toMatchObject({ requests: 10, online: 2, tokens: 100 });
  });

  it("lets flex in before batch, each in its order, as requests leave", async () => {
    const { enter, fill, gate, entered, visits, turn } = setUp();
    await fill();
    for (const name of ["b1", "b2"]) void enter("batch", name);
    for (const name of ["f1", "f2"]) void enter("flex", name);
    expect(gate.waiting).toBe(4);
    for (let i = 0; i < 4; i++) {
      visits[i]!.leave("other", false);
      await turn();
    }
    expect(entered).toEqual(["f1", "f2", "b1", "b2"]);
    expect(gate.waiting).toBe(0);
  });

  it("lets nobody overtake a request of the same tier that waits", async () => {
    const { enter, fill, gate, entered, replicas, turn } = setUp();
    await fill();
    void enter("batch", "first");
    // Another place comes without a request that leaves, as when the limit grows.
    replicas[0]!.limit.enter()?.end("clean");
    void enter("batch", "second");
    expect(gate.waiting).toBe(2);
    await turn();
    expect(entered).toEqual([]);
  });

  it("forgets a request whose signal aborts, and rejects it with the reason", async () => {
    const { enter, fill, gate, entered, visits, turn } = setUp();
    await fill();
    const abort = new AbortController();
    const waiting = enter("batch", "left", abort.signal);
    void enter("batch", "stays");
    abort.abort(new Error("left"));
    await expect(waiting).rejects.toThrow("left");
    expect(gate.waiting).toBe(1);
    visits[0]!.leave("clean", false);
    await turn();
    expect(entered).toEqual(["stays"]);
    await expect(enter("default", "late", abort.signal)).rejects.toThrow("left");
  });

  it("refuses all where no replica is healthy, and keeps those that wait", async () => {
    const { enter, fill, gate, entered, replicas, visits, turn } = setUp();
    await fill();
    void enter("batch", "waits");
    replicas[0]!.healthy = false;
    for (const tier of ["default", "flex", "batch"] as const) {
      const refused = tier === "default" ? enter(tier) : null;
      if (refused !== null) await expect(refused).rejects.toMatchObject({ code: "upstream_unavailable", status: 503 });
    }
    for (const visit of visits.splice(0)) visit.leave("other", false);
    await turn();
    expect(entered).toEqual([]);
    replicas[0]!.healthy = true;
    gate.pump();
    await turn();
    expect(entered).toEqual(["waits"]);
  });

  it("goes back to a replica that failed only where no other is up", async () => {
    const { enter, replicas } = setUp(["a", "b"]);
    const avoid = new Set(["a"]);
    const signal = new AbortController().signal;
    expect((await enter("default", "", signal, avoid)).replica.url).toBe("b");
    replicas[1]!.healthy = false;
    expect((await enter("default", "", signal, avoid)).replica.url).toBe("a");
  });

  it("knows whether another replica is there", () => {
    const { gate, replicas } = setUp(["a", "b"]);
    expect(gate.hasOther(new Set(["a"]))).toBe(true);
    expect(gate.hasOther(new Set(["a", "b"]))).toBe(false);
    replicas[1]!.healthy = false;
    expect(gate.hasOther(new Set(["a"]))).toBe(false);
  });

  it("tries each replica with one request at a time where all breakers are open", async () => {
    const { enter, replicas } = setUp(["a", "b"]);
    for (const { breaker } of replicas) for (let i = 0; i < 5; i++) breaker.enter(false)!.end("failure");
    const urls = await Promise.all([enter("default"), enter("default")]).then((all) =>
      all.map((one) => one.replica.url),
    );
    expect(urls.sort()).toEqual(["a", "b"]);
    await expect(enter("default")).rejects.toMatchObject({ code: "upstream_unavailable" });
  });

  it("counts a visit once, however often it is left", async () => {
    const { enter, replicas } = setUp();
    const visit = await enter("batch");
    visit.leave("clean", false);
    visit.leave("clean", false);
    expect(replicas[0]).toMatchObject({ requests: 0, tokens: 0 });
    expect(replicas[0]!.limit.inFlight).toBe(0);
  });

  it("lets requests in when the pause ends that a replica asked for", async () => {
    const { enter, entered, replicas, clock } = setUp();
    replicas[0]!.limit.enter()!.end("busy", 20);
    void enter("batch");
    clock.ms += 20;
    await expect.poll(() => entered).toEqual(["batch"]);
  });

  it("has the places of the replicas that take requests", () => {
    const { gate, replicas } = setUp(["a", "b"]);
    expect(gate.places).toBe(16);
    replicas[1]!.healthy = false;
    expect(gate.places).toBe(8);
  });
});
