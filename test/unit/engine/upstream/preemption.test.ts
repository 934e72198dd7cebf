import { describe, expect, it, test } from "vitest";
import type { Tier } from "../../../../engine/protocol/request.ts";
import { UPSTREAM_KINDS, type UpstreamConfig } from "../../../../engine/upstream/dialect/upstream-config.ts";
import type { Replica } from "../../../../engine/upstream/replica/replica.ts";
import { UpstreamAccess } from "../../../../engine/upstream/upstream-access.ts";
import type { FakeUpstream } from "../../../upstream/fake-upstream.ts";
import { CHAT, CONFIG, chat, fake, outcomeOf, run, upstreamOf } from "./upstream-rig.ts";

const SLOTS = 3;

/** A llama-server whose answers of "wait …" stay without an end, until they are told to end. */
async function boxOf(config: Partial<UpstreamConfig> = {}, slots = SLOTS) {
  const box = await fake({ kind: "llama-server", slots });
  const stuck = { value: true };
  box.script = ({ body }) =>
    stuck.value && JSON.stringify(body).includes("wait ") ? { kind: "stall", after: 1 } : null;
  const parts = await upstreamOf([box], config);
  /** Requests whose answers have begun, one after the other. */
  const begun = async (tier: Tier, count: number, restarts = true) => {
    const works: ReturnType<typeof run>[] = [];
    for (let nth = 0; nth < count; nth++) {
      const work = run(parts.engine, chat(`wait ${tier} ${nth}`, { tier }), restarts);
      await work.begun;
      works.push(work);
    }
    return works;
  };
  return { ...parts, box, begun, replica: parts.access.replicas[0]!, release: () => (stuck.value = false) };
}

/** The messages in the order in which they were sent. */
function sent(box: FakeUpstream): string[] {
  return box.seen(CHAT).map(({ body }) => Object(body).messages[0].content);
}

describe("an online request at a replica whose slots are taken", () => {
  it("starts at once, and the youngest batch request gives up its slot and is answered afterwards", async () => {
    const { engine, box, begun, told, access, release } = await boxOf();
    const works = await begun("batch", SLOTS);
    expect(await outcomeOf(engine, chat("now please"))).toBe("now please");
    expect(sent(box)).toEqual(["wait batch 0", "wait batch 1", "wait batch 2", "now please"]);
    expect(await box.seen(CHAT)[2]!.closed).toBe("aborted");
    await expect.poll(() => told.outcomes).toEqual(["preempted", "ok"]);
    expect(told.dropped).toBe(1);
    expect(access.gate.waiting).toBe(1);
    release();
    works[0]!.ticket.cancel();
    works[1]!.ticket.cancel();
    expect(await works[2]!.ended).toBeNull();
    expect(works[2]!.texts).toEqual(["wait batch 2"]);
    expect(works[2]!.events).toEqual(["accepted 5", "started 0", "mayRestart preempted", "accepted 5", "started 0"]);
    // A client that leaves before the next answer is charged by estimates, and its row is marked.
    expect(works[2]!.estimated).toEqual([true, true]);
    expect(told.retried).toEqual([]);
  });

  it("leaves as many batch requests as the limit beside online requests allows, although a slot is free", async () => {
    const { engine, begun, told, replica } = await boxOf({}, 7);
    const works = await begun("batch", 6);
    expect(await outcomeOf(engine, chat("now please"))).toBe("now please");
    await expect.poll(() => told.outcomes.filter((outcome) => outcome === "preempted")).toHaveLength(4);
    expect(replica.limit).toMatchObject({ limit: 2, inFlight: 2 });
    for (const { ticket } of works) ticket.cancel();
  });

  it("counts a slot for each choice and each input", async () => {
    const { engine, box, access, replica } = await boxOf();
    const choices = run(engine, chat("wait", { tier: "batch", n: SLOTS }));
    await choices.begun;
    expect(await outcomeOf(engine, chat("now"))).toBe("now");
    expect(await box.seen(CHAT)[0]!.closed).toBe("aborted");
    choices.ticket.cancel();
    await expect.poll(() => replica.sequences).toBe(0);
    box.script = () => ({ kind: "stall", after: "headers" });
    const nothing = () => {};
    const listener = { accepted: nothing, started: nothing, vector: nothing, failed: nothing, mayRestart: () => true };
    const inputs = ["a", "b", "c"].map((text) => ({ kind: "text" as const, text }));
    const embeddings = engine.embed({ tier: "batch", owner: "o", endpoint: "/v1/embeddings", inputs }, listener);
    const { closed } = await box.arrival("/v1/embeddings");
    const online = run(engine, chat("again"));
    expect(await closed).toBe("aborted");
    embeddings.cancel();
    online.ticket.cancel();
    await expect.poll(() => [replica.sequences, access.gate.waiting]).toEqual([0, 0]);
  });

  it("takes the slot of batch before that of flex, and none of a stream that a client reads", async () => {
    const { engine, box, begun } = await boxOf();
    await begun("batch", 1);
    await begun("flex", 1, false);
    await begun("flex", 1);
    for (const text of ["one", "two", "three"]) void run(engine, chat(`wait ${text}`)).begun;
    await expect.poll(() => box.seen(CHAT)).toHaveLength(6);
    await expect.poll(() => box.inFlight).toBe(4);
    const closed = await Promise.all([0, 2].map((nth) => box.seen(CHAT)[nth]!.closed));
    expect(closed).toEqual(["aborted", "aborted"]);
    // The stream goes on, so that the third online request waits.
    expect(sent(box).slice(0, 3)).toEqual(["wait batch 0", "wait flex 0", "wait flex 0"]);
  });

  it("leaves a request that was preempted twice", async () => {
    const { engine, box, begun, told, release } = await boxOf();
    const [victim] = await begun("batch", 1);
    const fill = () => Array.from({ length: SLOTS }, (_, nth) => run(engine, chat(`wait online ${nth}`)));
    for (let round = 1; round <= 2; round++) {
      const online = fill();
      await Promise.all(online.map(({ begun: first }) => first));
      for (const { ticket } of online) ticket.cancel();
      await expect.poll(() => sent(box).filter((text) => text === "wait batch 0")).toHaveLength(1 + round);
    }
    await expect.poll(() => victim!.texts).toEqual(["wait"]);
    const online = fill();
    await expect.poll(() => box.inFlight).toBe(SLOTS + 1);
    expect(told.outcomes.filter((outcome) => outcome === "preempted")).toHaveLength(2);
    release();
    for (const { ticket } of online) ticket.cancel();
    victim!.ticket.cancel();
  });

  it("leaves nothing of a request that its client cancels while it waits again", async () => {
    const { engine, begun, access, told } = await boxOf();
    const works = await begun("batch", SLOTS);
    await outcomeOf(engine, chat("now"));
    works[2]!.ticket.cancel();
    await expect.poll(() => access.gate.waiting).toBe(0);
    expect(engine.pending).toBe(2);
    await expect.poll(() => told.outcomes).toEqual(["preempted", "ok"]);
  });

  it("is not harmed by a listener that throws as it is preempted", async () => {
    const { engine, box, access, told } = await boxOf();
    let begin = () => {};
    const begun = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const failed = new Promise((resolve) => {
      const nothing = () => {};
      const mayRestart = () => {
        throw new Error("a fault of the listener");
      };
      const listener = { accepted: nothing, started: nothing, output: begin, failed: resolve, mayRestart };
      engine.submit(chat("wait a", { tier: "batch" }), listener);
    });
    await box.arrival(CHAT);
    await begun;
    const online = Array.from({ length: SLOTS }, (_, nth) => run(engine, chat(`wait online ${nth}`)));
    await Promise.all(online.map(({ begun: first }) => first));
    expect(await failed).toMatchObject({ code: "internal_error" });
    expect(told.log).toMatchObject([{ err: { message: "a fault of the listener" } }]);
    expect(access.replicas[0]!.requests).toBe(SLOTS);
  });
});

describe("flex and batch at a replica whose slots are known", () => {
  it("take all of them, and leave one to online requests while those are expected", async () => {
    const { engine, box, clock, replica, access } = await boxOf();
    expect(replica.slots).toBe(SLOTS);
    for (let nth = 0; nth < 6; nth++) void run(engine, chat(`wait ${nth}`, { tier: "batch" }));
    await expect.poll(() => box.inFlight).toBe(SLOTS);
    expect(access.gate.places).toBe(SLOTS);
    await outcomeOf(engine, chat("now"));
    await expect.poll(() => [box.inFlight, access.gate.waiting]).toEqual([SLOTS - 1, 4]);
    clock.ms += 30_000;
    access.gate.pump();
    await expect.poll(() => box.inFlight).toBe(SLOTS);
  });
});

test("an online request that met a queue of batch unseen has it preempted with the next report", async () => {
  const engineSlots = 5;
  const upstream = await fake({ slots: engineSlots });
  upstream.script = ({ body }) => (JSON.stringify(body).includes("wait ") ? { kind: "stall", after: 1 } : null);
  const { engine, access, told } = await upstreamOf([upstream]);
  const replica = access.replicas[0]!;
  for (let nth = 0; nth < engineSlots; nth++) await run(engine, chat(`wait ${nth}`, { tier: "batch" })).begun;
  // The engine tells no slots, and its last report has no queue.
  await expect.poll(() => replica.load.waiting, { timeout: 5000 }).toBe(0);
  expect(await outcomeOf(engine, chat("now"))).toBe("now");
  expect(told.outcomes.filter((outcome) => outcome === "preempted")).toHaveLength(engineSlots - 2);
  expect(replica.unbegun.size).toBe(0);
});

test.each<[string, (replica: Replica) => void, boolean]>([
  ["waits", () => {}, true],
  ["has begun", ({ unbegun }) => [...unbegun][0]!.claim(), false],
  ["has left", ({ unbegun }) => [...unbegun][0]!.leave("other", false), false],
])("a report of a queue while the online request %s has batch preempted: %s", async (_, change, preempts) => {
  const { access } = await upstreamOf([await fake()]);
  const replica = access.replicas[0]!;
  const entrance = { tokens: 1, sequences: 1, blocks: [], avoid: new Set<string>(), preempted: false };
  const { signal } = new AbortController();
  for (let nth = 0; nth < 5; nth++) {
    await access.gate.enter({ ...entrance, tier: "batch", mayPreempt: () => true }, signal);
  }
  await access.gate.enter({ ...entrance, tier: "default", mayPreempt: () => false }, signal);
  change(replica);
  replica.reported({ running: 5, waiting: 1, kvUsed: null, generatedTokens: null }, 1000);
  access.gate.reported(replica);
  expect(replica.lower.size).toBe(preempts ? 2 : 5);
});

test.each<[UpstreamConfig["kind"], Partial<UpstreamConfig>, boolean]>([
  ...UPSTREAM_KINDS.map((kind): [typeof kind, object, boolean] => {
    return [kind, {}, !["openai", "llm-d", "dynamo", "ray", "kserve"].includes(kind)];
  }),
  ["sglang", { priority: "sglang" }, false],
  ["nightshift", { priority: "service_tier" }, false],
  ["vllm", { priority: "vllm" }, true],
])("a queue at %s with %o has batch beyond the limit preempted: %s", async (kind, config, preempts) => {
  const observer = { ended() {}, retried() {}, hedged() {}, estimated() {}, dropped() {} };
  const log = { debug() {}, info() {}, warn() {}, error() {} };
  const clock = { now: () => 1000, epochMs: () => 1000 };
  const access = new UpstreamAccess(
    { ...CONFIG, replicas: [{ url: "http://a/v1", weight: 1 }], kind, ...config },
    { clock, log, observer, random: () => 0, randomId: () => "1" },
  );
  const replica = access.replicas[0]!;
  replica.healthy = true;
  const signal = new AbortController().signal;
  const entrance = {
    tokens: 1,
    sequences: 1,
    blocks: [],
    avoid: new Set<string>(),
    preempted: false,
    mayPreempt: () => true,
  };
  for (let nth = 0; nth < 5; nth++) await access.gate.enter({ ...entrance, tier: "batch" }, signal);
  replica.reported({ running: 4, waiting: 1, kvUsed: null, generatedTokens: null }, 1000);
  await access.gate.enter({ ...entrance, tier: "default" }, signal);
  expect(replica.lower.size).toBe(preempts ? 2 : 5);
  await access.close();
});
