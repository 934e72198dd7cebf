import { describe, expect, it } from "vitest";
import {
  advance,
  type Lifecycle,
  type LifecycleEvent,
  newLifecycle,
  retryAfter,
} from "../../../../engine/client/lifecycle.ts";
import { RESTART_POLICY } from "../../../../engine/restart-policy.ts";

const POLICY = RESTART_POLICY;
const DIED: LifecycleEvent = { type: "died", reason: "It died." };

/** Plays events one second apart, from a start at 0. */
function play(events: LifecycleEvent[], stepMs = 1000): Lifecycle {
  let life = newLifecycle(0);
  events.forEach((event, i) => {
    life = advance(life, event, (i + 1) * stepMs, POLICY).life;
  });
  return life;
}

const loading = play([]);
const ready = play([{ type: "ready" }]);
const restarting = play([{ type: "ready" }, DIED]);
const failed = play([{ type: "unloadable", reason: "No." }]);
const crashed = play(
  Array.from({ length: 5 }, (): LifecycleEvent[] => [{ type: "ready" }, DIED, { type: "retry" }]).flat(),
);
const failedOnDemand = [{ type: "load" }, { type: "unloadable", reason: "No." }].reduce<Lifecycle>(
  (life, event) => advance(life, event as LifecycleEvent, 1000, POLICY).life,
  newLifecycle(0, "unloaded"),
);
const closed = play([{ type: "close" }]);
const unloading = play([{ type: "ready" }, { type: "unload" }]);
const unloaded = play([{ type: "ready" }, { type: "unload" }, DIED]);
const EVENTS = {
  progress: { type: "progress", progress: 0.3 },
  ready: { type: "ready" },
  unloadable: { type: "unloadable", reason: "No." },
  died: DIED,
  retry: { type: "retry" },
  finished: { type: "finished" },
  unload: { type: "unload" },
  load: { type: "load" },
  close: { type: "close" },
} satisfies Record<string, LifecycleEvent>;

/** The table in lifecycle.ts: the state after the event, and its effect. */
const TABLE: [name: string, from: Lifecycle, to: Record<keyof typeof EVENTS, string>][] = [
  [
    "loading",
    loading,
    {
      progress: "loading",
      ready: "ready resume",
      unloadable: "failed fail",
      died: "restarting wait",
      retry: "loading",
      finished: "loading",
      unload: "loading",
      load: "loading",
      close: "closed fail",
    },
  ],
  [
    "ready",
    ready,
    {
      progress: "ready",
      ready: "ready",
      unloadable: "ready",
      died: "restarting wait",
      retry: "ready",
      finished: "ready",
      unload: "unloading stop",
      load: "ready",
      close: "closed fail",
    },
  ],
  [
    "restarting",
    restarting,
    {
      progress: "restarting",
      ready: "ready resume",
      unloadable: "restarting",
      died: "restarting wait",
      retry: "restarting start",
      finished: "restarting",
      unload: "restarting",
      load: "restarting",
      close: "closed fail",
    },
  ],
  [
    "unloading",
    unloading,
    {
      progress: "unloading",
      ready: "unloading",
      unloadable: "unloading",
      died: "unloaded gone",
      retry: "unloading",
      finished: "unloading",
      unload: "unloading",
      load: "unloading",
      close: "closed fail",
    },
  ],
  [
    "unloaded",
    unloaded,
    {
      progress: "unloaded",
      ready: "unloaded",
      unloadable: "unloaded",
      died: "unloaded",
      retry: "unloaded",
      finished: "unloaded",
      unload: "unloaded",
      load: "loading load",
      close: "closed fail",
    },
  ],
  [
    "failed",
    failed,
    {
      progress: "failed",
      ready: "failed",
      unloadable: "failed",
      died: "failed",
      retry: "loading load",
      finished: "failed",
      unload: "failed",
      load: "loading load",
      close: "closed fail",
    },
  ],
  [
    "failed",
    failedOnDemand,
    {
      progress: "failed",
      ready: "failed",
      unloadable: "failed",
      died: "failed",
      retry: "unloaded",
      finished: "failed",
      unload: "failed",
      load: "loading load",
      close: "closed fail",
    },
  ],
  [
    "failed",
    crashed,
    {
      progress: "failed",
      ready: "failed",
      unloadable: "failed",
      died: "failed",
      retry: "failed",
      finished: "failed",
      unload: "failed",
      load: "loading load",
      close: "closed fail",
    },
  ],
  [
    "closed",
    closed,
    {
      progress: "closed",
      ready: "closed",
      unloadable: "closed",
      died: "closed",
      retry: "closed",
      finished: "closed",
      unload: "closed",
      load: "closed",
      close: "closed",
    },
  ],
];

describe("the table of states", () => {
  for (const [name, from, row] of TABLE) {
    for (const [event, expected] of Object.entries(row)) {
      it(`${name} + ${event} → ${expected}`, () => {
        expect(from.state.name).toBe(name);
        const { life, effect } = advance(from, EVENTS[event as keyof typeof EVENTS], 3000, POLICY);
        expect([life.state.name, effect].filter((part) => part !== null).join(" ")).toBe(expected);
      });
    }
  }

  it("loads an unloaded model again without its earlier deaths, and retries a failed load", () => {
    const died = play([{ type: "ready" }, DIED, { type: "retry" }, { type: "ready" }, { type: "unload" }, DIED]);
    expect(died).toMatchObject({ state: { name: "unloaded" }, deathsInRow: 0, doublings: 0 });
    const { life } = advance(died, EVENTS.load, 9000, POLICY);
    expect(life.state).toEqual({ name: "loading", progress: 0, onDemand: true });
    const half = advance(life, EVENTS.progress, 9001, POLICY).life;
    expect(half.state).toEqual({ name: "loading", progress: 0.3, onDemand: true });
    expect(advance(half, EVENTS.unloadable, 9002, POLICY).life.state).toMatchObject({
      name: "failed",
      retryInMs: 5000,
    });
    expect(advance(half, DIED, 9002, POLICY).life.state).toMatchObject({ name: "restarting" });
  });

  it("carries progress and reasons", () => {
    expect(advance(loading, EVENTS.progress, 1, POLICY).life.state).toEqual({ name: "loading", progress: 0.3 });
    expect(restarting.state).toEqual({ name: "restarting", reason: "It died.", retryInMs: 250 });
    expect(failed.state).toEqual({ name: "failed", reason: "No.", retryInMs: 5000 });
  });

  it("loads again after a death before the model was ever ready, and fails at the second", () => {
    const second = play([DIED, { type: "retry" }]);
    expect(second.state).toEqual({ name: "loading", progress: 0 });
    const { life, effect } = advance(second, DIED, 9000, POLICY);
    expect(effect).toBe("fail");
    expect(life.state).toEqual({
      name: "failed",
      reason: "The engine died 2 times while it loaded the model. It died.",
      retryInMs: 5000,
    });
  });
});

describe("the backoff of loads that fail", () => {
  it("doubles up to its cap, and starts anew after a load succeeds", () => {
    let life = newLifecycle(0);
    const waits: (number | undefined)[] = [];
    for (let i = 0; i < 8; i++) {
      life = advance(life, EVENTS.unloadable, 0, POLICY).life;
      if (life.state.name === "failed") waits.push(life.state.retryInMs);
      life = advance(life, EVENTS.retry, 0, POLICY).life;
    }
    expect(waits).toEqual([5000, 10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 300_000]);
    expect(advance(life, EVENTS.ready, 0, POLICY).life.failedLoads).toBe(0);
  });

  it("follows five deaths in a row whose last one was during a load", () => {
    let life = play([EVENTS.ready]);
    for (let i = 0; i < 5; i++) {
      life = advance(life, DIED, 0, POLICY).life;
      life = advance(life, EVENTS.retry, 0, POLICY).life;
    }
    expect(life.state).toMatchObject({ name: "loading" });
    expect(crashed.state).toEqual({ name: "failed", reason: "The engine died 5 times in a row. It died." });
  });
});

describe("the backoff", () => {
  function backoffs(deaths: number, between: LifecycleEvent[], policy = POLICY): number[] {
    let life = newLifecycle(0);
    const waits: number[] = [];
    life = advance(life, { type: "ready" }, 0, policy).life;
    for (let i = 0; i < deaths; i++) {
      life = advance(life, DIED, 0, policy).life;
      if (life.state.name === "restarting") waits.push(life.state.retryInMs);
      for (const event of [EVENTS.retry, EVENTS.ready, ...between]) life = advance(life, event, 0, policy).life;
    }
    return waits;
  }

  it("doubles up to its cap, also when requests finish between", () => {
    expect(backoffs(9, [EVENTS.finished])).toEqual([250, 500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
  });

  it("ends at the fifth death in a row", () => {
    expect(backoffs(9, [])).toEqual([250, 500, 1000, 2000]);
  });

  it("starts anew after a minute of serving, as does the row of deaths", () => {
    let life = play([{ type: "ready" }, DIED, EVENTS.retry, EVENTS.ready, DIED, EVENTS.retry, EVENTS.ready], 0);
    expect(life).toMatchObject({ deathsInRow: 2, doublings: 2 });
    life = advance(life, DIED, 59_999, POLICY).life;
    expect(life.state).toMatchObject({ retryInMs: 1000 });
    life = play([{ type: "ready" }, DIED, EVENTS.retry, EVENTS.ready], 0);
    life = advance(life, DIED, 60_000, POLICY).life;
    expect(life).toMatchObject({ deathsInRow: 1, state: { retryInMs: 250 } });
  });
});

describe("Retry-After", () => {
  it("is the load of an unloaded model, the backoff and load of a failed one, else a minute", () => {
    expect(retryAfter(newLifecycle(0, "unloaded"), 99_000)).toBe(5);
    expect(retryAfter(failed, 1000)).toBe(10);
    expect(retryAfter(failed, 5000)).toBe(6);
    expect(retryAfter(crashed, 0)).toBe(60);
  });

  it("is the rest of the backoff and the last load time, in whole seconds from 1 to 60", () => {
    let life = advance(newLifecycle(0), { type: "ready" }, 7000, POLICY).life;
    life = advance(life, DIED, 10_000, POLICY).life;
    expect(retryAfter(life, 10_000)).toBe(8);
    life = advance(life, EVENTS.retry, 10_250, POLICY).life;
    expect(retryAfter(life, 12_250)).toBe(5);
    expect(retryAfter(life, 99_000)).toBe(1);
  });

  it("follows the progress of the first load", () => {
    const half = advance(newLifecycle(0), { type: "progress", progress: 0.5 }, 4000, POLICY).life;
    expect(retryAfter(half, 4000)).toBe(4);
    const crawling = advance(newLifecycle(0), { type: "progress", progress: 0.01 }, 50_000, POLICY).life;
    expect(retryAfter(crawling, 50_000)).toBe(60);
  });
});
