import { expect, test } from "vitest";
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
