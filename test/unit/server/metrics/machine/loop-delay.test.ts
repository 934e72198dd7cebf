import { Registry } from "prom-client";
import { expect, it } from "vitest";
import { watchLoopDelay } from "../../../../../server/metrics/machine/loop-delay.ts";
import { Scrape } from "../../../../api/scrape.ts";

it("every scrape shows one long delay among many short ones", async () => {
  const registry = new Registry();
  let ms = 0;
  // The timer runs in real time; its measurements are of this clock.
  watchLoopDelay(registry, () => ms);
  const scrape = async () => new Scrape(await registry.metrics());
  const observations = async () => (await scrape()).sum("nightshift_event_loop_delay_seconds_count");
  const before = await scrape();
  ms += 4020;
  const count = await observations();
  await expect.poll(observations).toBeGreaterThan(count);
  const [one, another] = [await scrape(), await scrape()];
  for (const reading of [one, another]) expect(reading.longestDelaySince(before)).toBe(5);
  const more = one.sum("nightshift_event_loop_delay_seconds_count");
  await expect.poll(observations).toBeGreaterThan(more + 2);
  const later = await scrape();
  expect(later.longestDelaySince(before)).toBe(5);
  expect(later.longestDelaySince(another)).toBe(0.005);
});
