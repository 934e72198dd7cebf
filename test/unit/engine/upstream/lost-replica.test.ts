import { expect, test } from "vitest";
import { CHAT, chat, fake, outcomeOf, upstreamOf } from "./upstream-rig.ts";

test("a request that meets no replica has the lists read again, so that its models are away at once", async () => {
  const upstream = await fake();
  const { engine, access, clock, told } = await upstreamOf([upstream]);
  const [replica] = access.replicas;
  expect(replica?.healthy).toBe(true);
  await upstream.stop();
  clock.ms += 1000;
  expect(await outcomeOf(engine, chat("a"))).toBe("upstream_unavailable");
  expect(told.log).toContainEqual(expect.objectContaining({ class: "gone", reason: "ECONNREFUSED" }));
  await expect.poll(() => replica?.healthy).toBe(false);
  expect(replica?.lastError).toBe("ECONNREFUSED");
  expect(engine.state.name).toBe("failed");
});

test("a replica that fails at one request and lists its models stays", async () => {
  const upstream = await fake();
  const { engine, access, clock } = await upstreamOf([upstream]);
  const wrongs = [{ kind: "status", status: 502 } as const];
  upstream.script = () => wrongs.shift() ?? null;
  clock.ms += 1000;
  expect(await outcomeOf(engine, chat("a"))).toBe("a");
  await expect.poll(() => upstream.seen("/v1/models").length).toBe(2);
  expect(upstream.seen(CHAT)).toHaveLength(2);
  expect(access.replicas[0]?.healthy).toBe(true);
});
