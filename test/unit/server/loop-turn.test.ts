import { expect, it } from "vitest";
import { loopTurn } from "../../../server/loop-turn.ts";

it("gives each turn of the event loop to one slice, however many wait", async () => {
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
