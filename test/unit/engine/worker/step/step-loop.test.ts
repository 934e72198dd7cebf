import { expect, test, vi } from "vitest";
import { generationOf, StepRig } from "./step-rig.ts";

test("an unstartable sequence ends with an error, and the others are answered", async () => {
  const rig = new StepRig(2, 8);
  const { cache, loop, posted, failed } = rig;
  const impossible = generationOf(1, [1, 2, 3], 2);
  const place = cache.place.bind(cache);
  cache.place = (sequence, online) => sequence !== impossible && place(sequence, online);
  loop.add(impossible);
  loop.add(generationOf(2, [4, 5], 2));
  while (await loop.step());

  expect(failed.map(([id, { code }]) => [id, code])).toEqual([[1, "internal_error"]]);
  expect(rig.sent).toEqual([
    [2, "a"],
    [2, "a"],
  ]);
  expect(posted.at(-1)?.outputs.at(-1)?.finish?.reason).toBe("length");
});

test("a sampler is freed once, whether its sequence waits, runs, fails or ends", async () => {
  const { cache, loop } = new StepRig(2, 8);
  const ending = generationOf(0, [1, 2], 2);
  const running = generationOf(1, [1, 3], 100);
  const failing = generationOf(2, [1, 4], 2);
  const waiting = generationOf(3, [1, 5], 2);
  const place = cache.place.bind(cache);
  cache.place = (sequence, online) => sequence !== failing && place(sequence, online);
  const all = [ending, running, failing, waiting];
  const freed = all.map(({ sampler }) => vi.spyOn(sampler, "free"));
  for (const sequence of all) loop.add(sequence);
  await loop.step();
  loop.cancel(running);
  loop.cancel(waiting);
  loop.cancel(waiting);
  while (await loop.step());
  loop.cancel(ending);
  while (await loop.step());
  expect(freed.map((free) => free.mock.calls.length)).toEqual([1, 1, 1, 1]);
});
