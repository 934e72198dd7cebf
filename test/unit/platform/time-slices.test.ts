import { expect, it } from "vitest";
import { TimeSlices } from "../../../platform/time-slices.ts";

/** A job with pieces of a given length, which yields where its slice is over. */
async function run(
  slices: TimeSlices,
  clock: { ms: number },
  owner: string,
  pieces: number[],
  done: (ms: number) => void,
) {
  const slice = slices.join(owner);
  await slice.begin();
  for (const ms of pieces) {
    clock.ms += ms;
    done(ms);
    if (slice.over()) await slice.begin();
  }
  slice.leave();
}

it("a short job ends after a few slices of a long one, in either order", async () => {
  const clock = { ms: 0 };
  const slices = new TimeSlices(() => clock.ms);
  let long = 0;
  let longAtEnd = 0;
  const first = run(slices, clock, "long", Array(10_000).fill(1), (ms) => {
    long += ms;
  });
  const second = run(slices, clock, "short", Array(30).fill(1), () => {
    longAtEnd = long;
  });
  await Promise.all([first, second]);
  expect(long).toBe(10_000);
  expect(longAtEnd).toBeLessThanOrEqual(60);
});

it("gives owners equal time at any number of jobs and length of pieces", async () => {
  const clock = { ms: 0 };
  const slices = new TimeSlices(() => clock.ms);
  const spent = { coarse: 0, many: 0 };
  let coarseAtEnd = 0;
  const coarse = run(slices, clock, "coarse", Array(50).fill(1000), (ms) => {
    spent.coarse += ms;
  });
  const many = Array.from({ length: 4 }, () =>
    run(slices, clock, "many", Array(2500).fill(1), (ms) => {
      spent.many += ms;
      coarseAtEnd = spent.coarse;
    }),
  );
  await Promise.all([coarse, ...many]);
  expect(spent).toEqual({ coarse: 50_000, many: 10_000 });
  expect(coarseAtEnd).toBeGreaterThanOrEqual(9000);
  expect(coarseAtEnd).toBeLessThanOrEqual(12_000);
});

it("lets other jobs compute while one waits for something else", async () => {
  const slices = new TimeSlices(() => 0);
  const [one, two] = [slices.join("a"), slices.join("b")];
  await one.begin();
  one.end();
  await two.begin();
  two.leave();
  await one.begin();
  one.leave();
});
