import { expect, test } from "vitest";
import { LoadScrape } from "../../../../engine/upstream/load-scrape.ts";
import { fake, upstreamOf } from "./upstream-rig.ts";

test("a report goes stale five seconds after the last one that came", async () => {
  const upstream = await fake();
  const { access, clock } = await upstreamOf([upstream]);
  const replica = access.replicas[0]!;
  const scrape = new LoadScrape(replica, access);
  const { signal } = new AbortController();
  await scrape.look(["m"], signal);
  expect(replica.load.waiting).toBe(0);
  await upstream.stop();
  clock.ms += 5001;
  await scrape.look(["m"], signal);
  expect(replica.limit.stale).toBe(true);
  expect(replica.isIdle(1)).toBe(false);
});
