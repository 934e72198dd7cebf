import { expect, it } from "vitest";
import { Watchdog } from "../../../../engine/client/watchdog.ts";

it("a process is silent when it sent no message for the whole limit", () => {
  const dog = new Watchdog(10);
  expect([dog.tick(30), dog.tick(30), dog.tick(30)]).toEqual([false, false, true]);
});

it("a message, or time in which none is due, starts the limit anew", () => {
  const dog = new Watchdog(10);
  dog.tick(30);
  dog.tick(30);
  dog.alive();
  expect([dog.tick(30), dog.tick(30), dog.tick(30)]).toEqual([false, false, false]);
  expect([dog.tick(null), dog.tick(30), dog.tick(30)]).toEqual([false, false, false]);
  expect(dog.tick(30)).toBe(true);
});
