import { expect, it } from "vitest";
import { startKeyedServer } from "../../../faults/keys-rig.ts";
import { saying } from "../fake-engine.ts";

const CHAT = { model: "demo", messages: [{ role: "user", content: "hi" }], max_tokens: 8 };

it("limits and budgets count as limited, and overload of flex as unavailable", async () => {
  const server = await startKeyedServer({ flexWaitMs: 20 });
  const requests = async (status: string) => {
    const { values } = (await server.metrics.registry.getSingleMetric("nightshift_requests_total")?.get()) ?? {};
    return (values ?? [])
      .filter(({ labels }) => labels.status === status)
      .reduce((total, { value }) => total + value, 0);
  };
  const call = async (key: string, more = {}) =>
    (await server.call(key, "POST", "/v1/chat/completions", { ...CHAT, ...more })).status;
  server.engine.script = saying("ok");
  const slow = (await server.key({ requests_per_minute: 1 })).key;
  expect([await call(slow), await call(slow)]).toEqual([200, 429]);
  const poor = (await server.key({ budget: { daily_usd: 0 } })).key;
  expect(await call(poor)).toBe(429);
  expect([await requests("limited"), await requests("unavailable")]).toEqual([2, 0]);

  server.engine.script = (request) => request.listener.accepted(5, null);
  const free = (await server.key()).key;
  expect(await call(free, { service_tier: "flex" })).toBe(429);
  expect([await requests("limited"), await requests("unavailable")]).toEqual([2, 1]);
});
