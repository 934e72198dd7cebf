import { expect, it } from "vitest";
import { loopTurn } from "../../../platform/loop-turn.ts";

it("runs one slice per turn of the event loop", async () => {
  let turn = 0;
  let over = false;
  const count = () => {
    turn++;
    if (!over) setImmediate(count);
  };
  setImmediate(count);
  const taken: number[] = [];
  const work = async () => {
    for (let i = 0; i < 20; i++) {
      await loopTurn();
      taken.push(turn);
    }
  };
  await Promise.all([work(), work(), work()]);
  over = true;
  expect(new Set(taken).size).toBe(60);
});

it("lets due timers run between a long slice and the next one", async () => {
  const order: string[] = [];
  await loopTurn();
  const next = loopTurn().then(() => order.push("slice"));
  setTimeout(() => order.push("timer"), 5);
  const end = performance.now() + 25;
  while (performance.now() < end);
  await next;
  expect(order).toEqual(["timer", "slice"]);
});
