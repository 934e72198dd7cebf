import { EventEmitter, once } from "node:events";
import { describe, expect, it } from "vitest";
import { type Part, Parts, StopRequested } from "../../../../server/lifecycle/parts.ts";
import { Shutdown } from "../../../../server/lifecycle/shutdown.ts";

/** Parts whose starts and stops are noted; `failing` names events that reject, such as "stop b". */
function rig(...failing: string[]) {
  const events: string[] = [];
  const logged: string[] = [];
  const note = (_: object, message: string) => void logged.push(message);
  const log = { debug: note, info: note, warn: note, error: note };
  const parts = new Parts(log);
  const happens = (event: string) => {
    events.push(event);
    if (failing.includes(event)) throw new Error(event);
  };
  const part = (name: string, more: Partial<Part<string>> = {}): Part<string> => ({
    name,
    start: async () => {
      happens(`start ${name}`);
      return name;
    },
    stop: async (started) => happens(`stop ${started}`),
    ...more,
  });
  const startAll = async (...names: string[]) => {
    for (const name of names) await parts.start(part(name));
    return names;
  };
  return { parts, part, startAll, events, logged, log };
}

it("starts parts in order and stops them in reverse", async () => {
  const { parts, startAll, events } = rig();
  expect(await parts.run(() => startAll("a", "b", "c"))).toEqual(["a", "b", "c"]);
  expect(parts.names).toEqual(["a", "b", "c"]);
  await parts.stop();
  expect(events).toEqual(["start a", "start b", "start c", "stop c", "stop b", "stop a"]);
});

it("stops the other parts when one fails to stop, and rejects with its name", async () => {
  const { parts, startAll, events, logged } = rig("stop b");
  await startAll("a", "b", "c");
  await expect(parts.stop()).rejects.toThrow("not stopped: b");
  expect(events.slice(3)).toEqual(["stop c", "stop b", "stop a"]);
  expect(logged).toEqual(["A part of the server could not be stopped"]);
});

it("begins every `beginStop` before the first part stops", async () => {
  const { parts, part, startAll, events } = rig();
  await parts.start(part("early", { beginStop: (started) => events.push(`begin ${started}`) }));
  await startAll("late");
  await parts.stop();
  expect(events.slice(2)).toEqual(["begin early", "stop late", "stop early"]);
});

it("stops each part once when stop is called twice", async () => {
  const { parts, startAll, events } = rig();
  await startAll("a");
  await Promise.all([parts.stop(), parts.stop()]);
  expect(events).toEqual(["start a", "stop a"]);
});

describe("a start that fails", () => {
  it("stops what had started, in reverse, and rejects with its reason", async () => {
    const { parts, startAll, events } = rig("start c");
    await expect(parts.run(() => startAll("a", "b", "c", "d"))).rejects.toThrow("start c");
    expect(events).toEqual(["start a", "start b", "start c", "stop b", "stop a"]);
  });

  it("rejects with its own reason where a part fails to stop as well", async () => {
    const { parts, startAll, events } = rig("start c", "stop b");
    await expect(parts.run(() => startAll("a", "b", "c"))).rejects.toThrow("start c");
    expect(events.slice(3)).toEqual(["stop b", "stop a"]);
  });
});

describe("a signal during the start", () => {
  /** A start of a, held, c whose second part goes on when `proceed` is called. */
  async function signalled(outcome: "starts" | "fails") {
    const { parts, part, events, logged, log } = rig();
    const signals = new EventEmitter();
    const exited = new EventEmitter();
    const work = { announce: () => {}, delayMs: () => 0, limitMs: () => 60_000, now: () => 0, echoMs: 0 };
    const exit = (code: number) => exited.emit("exit", code);
    new Shutdown({ ...work, log, flush: async () => {}, exit, drain: () => parts.stop() }, signals);
    let proceed = () => {};
    const held = new Promise<void>((resolve, reject) => {
      proceed = outcome === "starts" ? resolve : () => reject(new Error("broken"));
    });
    const start = async () => {
      events.push("start held");
      await held;
      return "held";
    };
    const run = parts.run(async () => {
      await parts.start(part("a"));
      await parts.start(part("held", { start }));
      await parts.start(part("c"));
    });
    await expect.poll(() => events).toContain("start held");
    const exiting = once(exited, "exit");
    signals.emit("SIGTERM");
    proceed();
    return { started: await run, exit: await exiting, events, logged };
  }

  it("finishes the part that is starting, starts no other, and exits with 0", async () => {
    const { started, exit, events } = await signalled("starts");
    expect([started, exit]).toEqual([null, [0]]);
    expect(events).toEqual(["start a", "start held", "stop held", "stop a"]);
  });

  it("logs a part that fails to start then, and exits with 0", async () => {
    const { started, exit, events, logged } = await signalled("fails");
    expect([started, exit]).toEqual([null, [0]]);
    expect(events).toEqual(["start a", "start held", "stop a"]);
    expect(logged).toContain("The start failed while the server stopped");
  });
});

it("refuses to start a part after the stop", async () => {
  const { parts, startAll, events } = rig();
  await parts.stop();
  await expect(startAll("a")).rejects.toThrow(StopRequested);
  expect(events).toEqual([]);
});
