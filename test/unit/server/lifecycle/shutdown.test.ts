import { EventEmitter, once } from "node:events";
import { beforeEach, expect, it } from "vitest";
import { Shutdown } from "../../../../server/lifecycle/shutdown.ts";

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

let events: EventEmitter;
let drained: PromiseWithResolvers;
let exits: number[];
let exited: EventEmitter;
let shutdown: Shutdown;
let now: number;
let limitMs: number;
let delayMs: number;
let announced: number;

interface PromiseWithResolvers {
  promise: Promise<void>;
  resolve(): void;
  reject(error: Error): void;
}

function withResolvers(): PromiseWithResolvers {
  let resolve = (): void => {};
  let reject = (_: Error): void => {};
  const promise = new Promise<void>((done, failed) => {
    resolve = done;
    reject = failed;
  });
  return { promise, resolve, reject };
}

beforeEach(() => {
  events = new EventEmitter();
  exited = new EventEmitter();
  drained = withResolvers();
  exits = [];
  now = 1000;
  limitMs = 60_000;
  delayMs = 0;
  announced = 0;
  shutdown = start(0);
});

function start(echoMs: number): Shutdown {
  return new Shutdown(
    {
      log: silent,
      flush: async () => {},
      announce: () => {
        announced++;
      },
      delayMs: () => delayMs,
      drain: () => drained.promise,
      exit: (code) => {
        exits.push(code);
        exited.emit("exit");
      },
      limitMs: () => limitMs,
      now: () => now,
      echoMs,
    },
    events,
  );
}

it.each(["SIGTERM", "SIGINT"])("%s drains, then exits with 0", async (signal) => {
  expect(shutdown.begun).toBe(false);
  events.emit(signal);
  expect(shutdown.begun).toBe(true);
  expect(exits).toEqual([]);
  drained.resolve();
  await once(exited, "exit");
  expect(exits).toEqual([0]);
});

it("ends at once on the second signal of either kind", () => {
  events.emit("SIGTERM");
  events.emit("SIGINT");
  expect(exits).toEqual([1]);
});

it("ends with 1 when the drain hangs", async () => {
  limitMs = 5;
  events.emit("SIGTERM");
  await once(exited, "exit");
  expect(exits).toEqual([1]);
});

it("treats the signal that npm forwards as an echo, and the next one as a second signal", () => {
  events = new EventEmitter();
  start(1000);
  events.emit("SIGINT");
  now += 999;
  events.emit("SIGINT");
  expect(exits).toEqual([]);
  events.emit("SIGINT");
  expect(exits).toEqual([1]);
});

it("treats a signal after the echo time as a second signal", () => {
  events = new EventEmitter();
  start(1000);
  events.emit("SIGINT");
  now += 1000;
  events.emit("SIGINT");
  expect(exits).toEqual([1]);
});

it.each(["uncaughtException", "unhandledRejection"])("%s drains, then exits with 1", async (event) => {
  events.emit(event, new Error("a bug"));
  expect(shutdown.begun).toBe(true);
  drained.resolve();
  await once(exited, "exit");
  expect(exits).toEqual([1]);
});

it("finishes the drain after an uncaught error, then exits with 1", async () => {
  events.emit("SIGTERM");
  events.emit("unhandledRejection", "odd");
  expect(exits).toEqual([]);
  drained.resolve();
  await once(exited, "exit");
  expect(exits).toEqual([1]);
});

it("exits with 1 when draining fails", async () => {
  events.emit("SIGTERM");
  drained.reject(new Error("stuck"));
  await once(exited, "exit");
  expect(exits).toEqual([1]);
});

it("announces the end, serves during the delay, then drains", async () => {
  delayMs = 20;
  events.emit("SIGTERM");
  expect([announced, shutdown.begun, shutdown.draining]).toEqual([1, true, false]);
  drained.resolve();
  await once(exited, "exit");
  expect(shutdown.draining).toBe(true);
});

it("has no delay after an uncaught error", async () => {
  delayMs = 1_000_000;
  events.emit("uncaughtException", new Error("broken"));
  drained.resolve();
  await once(exited, "exit");
  expect(exits).toEqual([1]);
});
