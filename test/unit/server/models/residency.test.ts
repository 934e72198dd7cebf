import { expect, it } from "vitest";
import type { ModelFacts } from "../../../../engine/protocol/config.ts";
import { Waiters } from "../../../../engine/waiters.ts";
import { Residency } from "../../../../server/models/residency.ts";
import { FACTS, FakeEngine } from "../fake-engine.ts";

const LOAD_MS = 1000;
const REQUEST_MS = 500;
const TICK_MS = 250;

/** Takes one second of the test's clock to load. */
class LoadableEngine extends FakeEngine {
  override readonly model: string;
  running = 0;
  readyAt = Number.POSITIVE_INFINITY;
  readonly #now: () => number;
  readonly #waiters = new Waiters<ModelFacts>();

  constructor(model: string, now: () => number) {
    super();
    this.model = model;
    this.#now = now;
    this.state = { name: "unloaded" };
  }

  override get pending(): number {
    return this.running;
  }

  override load(): void {
    this.state = { name: "loading", progress: 0, onDemand: true };
    this.readyAt = this.#now() + LOAD_MS;
  }

  override async unload(): Promise<void> {
    if (this.running === 0) this.state = { name: "unloaded" };
  }

  override async ready(signal?: AbortSignal): Promise<ModelFacts> {
    return this.state.name === "ready" ? FACTS : this.#waiters.add(signal);
  }

  tick(): void {
    if (this.state.name !== "loading" || this.#now() < this.readyAt) return;
    this.state = { name: "ready" };
    this.#waiters.resolveAll(FACTS);
  }
}

/** Models that fit one at a time, and clients that send one request after the other. */
class Simulation {
  now = 0;
  readonly engines: Map<string, LoadableEngine>;
  readonly residency: Residency;
  readonly #due: { at: number; run: () => void }[] = [];

  constructor(...models: string[]) {
    this.engines = new Map(models.map((model) => [model, new LoadableEngine(model, () => this.now)]));
    this.residency = new Residency({
      engines: [...this.engines.values()],
      budgetOf: () => 1,
      keepAliveMs: 300_000,
      bytesOf: () => 1,
      onlineOf: (model) => this.engines.get(model)?.running ?? 0,
      now: () => this.now,
    });
  }

  /** Sends one request; resolves with its answer. */
  async request(model: string): Promise<void> {
    const engine = this.engines.get(model)!;
    while (engine.state.name !== "ready" || this.residency.drains(model)) {
      await this.residency.untilLoaded(model, "owner", null, new AbortController().signal);
    }
    engine.running++;
    await this.#sleep(REQUEST_MS);
    engine.running--;
  }

  /** Sends requests without a pause; returns the number of answers. */
  busy(model: string): { answers: number } {
    const client = { answers: 0 };
    const go = async () => {
      for (;;) {
        await this.request(model);
        client.answers++;
      }
    };
    void go();
    return client;
  }

  async run(ms: number): Promise<void> {
    for (const end = this.now + ms; this.now < end; ) {
      this.now += TICK_MS;
      for (const engine of this.engines.values()) engine.tick();
      for (const each of this.#due.splice(0)) {
        if (each.at <= this.now) each.run();
        else this.#due.push(each);
      }
      await new Promise(setImmediate);
      this.residency.look();
      await new Promise(setImmediate);
    }
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.#due.push({ at: this.now + ms, run: resolve }));
  }
}

it("two busy models alternate, and a third one is loaded in the order of requests", async () => {
  const simulation = new Simulation("a", "b", "c");
  const a = simulation.busy("a");
  await simulation.run(5000);
  const b = simulation.busy("b");
  await simulation.run(2000);
  let answered = Number.POSITIVE_INFINITY;
  const asked = simulation.now;
  void simulation.request("c").then(() => {
    answered = simulation.now - asked;
  });
  await simulation.run(120_000);
  // At most the time slices of both others, four load times each, and the loads between.
  expect(answered).toBeLessThanOrEqual(2 * (4 * LOAD_MS + LOAD_MS) + 4 * (LOAD_MS + REQUEST_MS));
  expect(Math.min(a.answers, b.answers)).toBeGreaterThan(0.6 * Math.max(a.answers, b.answers));
  expect(a.answers).toBeGreaterThan(50);
});

it("a model keeps its memory after its time slice while no other is requested", async () => {
  const simulation = new Simulation("a", "b");
  simulation.busy("a");
  await simulation.run(60_000);
  expect(simulation.engines.get("a")?.state.name).toBe("ready");
  expect(simulation.residency.drains("a")).toBe(false);
});

it("drains no more after the last request for another model ended", async () => {
  const simulation = new Simulation("a", "b");
  const a = simulation.busy("a");
  await simulation.run(10_000);
  const gone = new AbortController();
  const waiting = simulation.residency.untilLoaded("b", "owner", null, gone.signal);
  await simulation.run(TICK_MS);
  gone.abort();
  await waiting;
  await simulation.run(2000);
  const before = a.answers;
  await simulation.run(10_000);
  expect(a.answers).toBeGreaterThan(before);
  expect(simulation.residency.waitingFor("b").total).toBe(0);
});
