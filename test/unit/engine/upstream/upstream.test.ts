import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { Upstream } from "../../../../engine/upstream/upstream.ts";
import { CHAT, chat, fake, outcomeOf, run, upstreamOf } from "./upstream-rig.ts";

/** A server of lists of models, which answers as `answer` says at the time. */
async function lister(first: unknown) {
  const state = { answer: first, status: 200, lists: 0, inFlight: 0, most: 0 };
  const server = createServer(async (request, response) => {
    if (request.url !== "/v1/models") {
      response.writeHead(404, { "content-type": "application/json" });
      response.end(JSON.stringify({ error: { message: "no model", code: "model_not_found" } }));
      return;
    }
    state.lists++;
    state.most = Math.max(state.most, ++state.inFlight);
    await new Promise((resolve) => setImmediate(resolve));
    state.inFlight--;
    response.writeHead(state.status, { "content-type": "application/json" });
    response.end(typeof state.answer === "string" ? state.answer : JSON.stringify(state.answer));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  return { state, config: { replicas: [{ url, weight: 1 }] } };
}
const listOf = (...models: object[]) => ({ object: "list", data: models });

/** Runs the timers up to the next look. */
async function untilAsked(state: { lists: number }, times = 1) {
  const before = state.lists;
  while (state.lists < before + times || state.lists === 0) {
    await vi.advanceTimersByTimeAsync(1000);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describe("the models of an upstream", () => {
  it("are served by their ids, with the context that the list tells", async () => {
    const { config } = await lister(
      listOf(
        { id: "a", owned_by: "vllm", max_model_len: 4096 },
        { id: "b", owned_by: "vllm" },
        { id: "alias", nightshift: { alias_of: "a" } },
        { id: "" },
        { id: "x".repeat(257) },
        { id: 7 },
      ),
    );
    const { engines, access } = await upstreamOf([], config);
    expect([...engines].map(([name, { facts }]) => [name, facts?.context])).toEqual([
      ["a", 4096],
      ["b", 131_072],
    ]);
    expect(access.kind).toBe("vllm");
  });

  it("have the smallest context of the replicas", async () => {
    const [a, b] = await Promise.all([4096, 2048].map((context) => fake({ context })));
    const { engine } = await upstreamOf([a!, b!]);
    expect(engine.facts?.context).toBe(2048);
  });

  it("have the context of a llama-server's slots where its list has none", async () => {
    const upstream = await fake({ kind: "llama-server", context: 512 });
    expect((await upstreamOf([upstream])).engine.facts?.context).toBe(512);
  });

  it("are those of the options alone where it names some, under their names", async () => {
    const { config } = await lister(listOf({ id: "a" }, { id: "b" }));
    const models = { one: "a", two: "a", none: "c" };
    const { engines } = await upstreamOf([], { ...config, models });
    expect([...engines].map(([name, { state }]) => [name, state.name])).toEqual([
      ["one", "ready"],
      ["two", "ready"],
      ["none", "failed"],
    ]);
  });

  it("have the upstream's name before theirs where that is taken, and none where both are", async () => {
    const { config } = await lister(listOf({ id: "a" }, { id: "b" }, { id: "c" }));
    const names = ["a", "b", "up/b"];
    const served: string[] = [];
    const { told } = await upstreamOf([], config, {
      taken: (name) => [...names, ...served].includes(name),
      served: ({ model }) => served.push(model),
    });
    expect(served).toEqual(["up/a", "c"]);
    expect(told.log).toMatchObject([{ upstream: "up", model: "b" }]);
  });

  it("have names in the order of the upstreams, whichever answers first", async () => {
    const slow = await fake({ model: "m" });
    const quick = await fake({ model: "m" });
    const served: string[] = [];
    const parts = {
      taken: (name: string) => served.some((one) => one.endsWith(`:${name}`)),
      served: ({ model, access }: { model: string; access: { config: { name: string } } }) =>
        void served.push(`${access.config.name}:${model}`),
    };
    const first = await upstreamOf([slow], { name: "first", models: {} }, parts);
    const { config } = first.access;
    let answered = () => {};
    const before = new Promise<void>((resolve) => {
      answered = resolve;
    });
    const second = new Upstream(
      { ...config, name: "second", models: null, replicas: [{ url: quick.baseUrl, weight: 1 }] },
      {
        ...{
          clock: first.clock,
          random: () => 0,
          randomId: () => "",
          observer: { ended() {}, retried() {}, hedged() {}, estimated() {}, dropped() {} },
        },
        ...{ log: { debug() {}, info() {}, warn() {}, error() {} }, ...parts },
      },
    );
    onTestFinished(() => second.stop());
    const started = second.start(before);
    await expect.poll(() => quick.seen("/v1/models").length).toBe(1);
    expect(served).toEqual([]);
    served.push("first:m");
    answered();
    await started;
    expect(served).toEqual(["first:m", "second:second/m"]);
  });

  it("appear, vanish and come back, and requests of a vanished one are refused as unavailable", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"] });
    onTestFinished(() => void vi.useRealTimers());
    const { config, state } = await lister(listOf({ id: "a" }));
    const { engines } = await upstreamOf([], config);
    state.answer = listOf({ id: "a" }, { id: "b" });
    await untilAsked(state);
    await expect.poll(() => [...engines.keys()]).toEqual(["a", "b"]);
    const a = engines.get("a")!;
    const names = () => [...engines.values()].map(({ state: { name } }) => name);
    state.answer = listOf({ id: "b" });
    await untilAsked(state);
    await expect.poll(names).toEqual(["failed", "ready"]);
    const error = await run(a, chat("x")).ended;
    expect(error).toMatchObject({ code: "upstream_unavailable", status: 503, retryAfter: 5 });
    expect(error?.message).toContain("The upstream 'up' does not serve 'a' now.");
    state.answer = listOf({ id: "a" }, { id: "b" });
    const ready = a.ready().catch(() => null);
    expect(await ready).toBeNull();
    await untilAsked(state);
    await expect.poll(names).toEqual(["ready", "ready"]);
    expect((await a.ready()).model).toBe("a");
  });

  it("are all gone while no list can be read, and the reason has no words of the upstream", async () => {
    const { config, state } = await lister("<html>secret words</html>");
    state.status = 500;
    const { upstream, told, engines } = await upstreamOf([], { ...config, models: { a: "a" } });
    expect(engines.get("a")!.state).toEqual({
      name: "failed",
      reason: "The upstream 'up' does not answer.",
      retryInMs: 5000,
      upstream: "up",
    });
    expect(upstream.access.replicas[0]!.lastError).toContain("secret words");
    expect(told.log).toHaveLength(1);
  });

  it("are asked for by one look at a time when many requests miss one", async () => {
    const { config, state } = await lister(listOf({ id: "a" }));
    const { engine, clock } = await upstreamOf([], config);
    clock.ms += 60_000;
    await Promise.all(Array.from({ length: 50 }, () => outcomeOf(engine, chat("x"))));
    expect(state.lists).toBe(2);
    clock.ms += 1000;
    await outcomeOf(engine, chat("x"));
    await expect.poll(() => state.lists).toBe(3);
    expect(state.most).toBe(1);
  });

  it.each([
    ["a page", "<html>"],
    ["no list", { data: "x" }],
    ["null", null],
    ["a number", 7],
    ["a huge body", JSON.stringify(listOf({ id: "x".repeat(5_000_000) }))],
  ])("are none where the list is %s", async (_, answer) => {
    const { config } = await lister(answer);
    const { access, engines } = await upstreamOf([], config);
    expect([engines.size, access.replicas[0]!.healthy]).toEqual([0, false]);
  });

  it("are a thousand at most", async () => {
    const { config } = await lister(listOf(...Array.from({ length: 1500 }, (_, nth) => ({ id: `m${nth}` }))));
    expect((await upstreamOf([], config)).engines.size).toBe(1000);
  });
});

describe("an upstream's API key", () => {
  it("is sent, and is in no log where the upstream repeats it", async () => {
    const upstream = await fake({ apiKey: "sk-right" });
    const { engine, told, access } = await upstreamOf([upstream], { apiKey: "sk-right", trusted: true });
    upstream.script = () => ({
      kind: "status",
      status: 400,
      body: { error: { message: "Incorrect API key provided: sk-right" } },
    });
    const error = await run(engine, chat("a")).ended;
    expect(upstream.seen(CHAT)[0]!.headers.authorization).toBe("Bearer sk-right");
    expect(error?.message).toContain("Incorrect API key provided: [the API key]");
    expect(JSON.stringify([told.log, access.replicas[0]!.lastError])).not.toContain("sk-right");
  });
});
