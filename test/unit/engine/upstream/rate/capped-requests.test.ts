import { expect, it } from "vitest";
import { CHAT, chat, fake, outcomeOf, run, upstreamOf } from "../upstream-rig.ts";

const DEMAND = { submitted: { priority: 0, default: 0, flex: 0 }, promptTokens: 0, answerTokens: 0 };
const CAP = { rate: { requestsPerMinute: 3, tokensPerMinute: null } };

it("requests to an upstream with a cap are sent up to it, those of batch before the last free ones", async () => {
  const upstream = await fake();
  const { engine, clock, access } = await upstreamOf([upstream], CAP);
  const batch = [1, 2, 3].map(() => run(engine, chat("batch", { tier: "batch" })));
  await Promise.all(batch.slice(0, 2).map(({ ended }) => ended));
  expect(await outcomeOf(engine, chat("online"))).toBe("online");
  expect(upstream.seen(CHAT)).toHaveLength(3);
  const waitMs = engine.rateWaitMs("default", { ...DEMAND, shareAhead: 0, onlineShare: 0 });
  const late = run(engine, chat("late"));
  clock.ms += waitMs - 1;
  access.gate.pump();
  expect(upstream.seen(CHAT)).toHaveLength(3);
  clock.ms += 1;
  access.gate.pump();
  expect(await late.ended).toBeNull();
  expect(await batch[2]!.ended).toBeNull();
});

it("tokens that the upstream counts take the place of the estimate", async () => {
  const upstream = await fake();
  const rate = { requestsPerMinute: null, tokensPerMinute: 1000 };
  const { engine, access } = await upstreamOf([upstream], { rate });
  expect(await outcomeOf(engine, chat("a b c", { maxTokens: 900 }))).toBe("a b c");
  // Three of the prompt, three of the answer.
  await expect.poll(() => access.rateWaitMs("default", 994)).toBe(0);
  expect(access.rateWaitMs("default", 995)).toBeGreaterThan(0);
});

it("flex and batch pause before an API refuses that reports little left, and online requests go on", async () => {
  const upstream = await fake();
  const { engine, access, clock } = await upstreamOf([upstream]);
  upstream.answerHeaders = {
    ...{ "x-ratelimit-limit-requests": "100", "x-ratelimit-remaining-requests": "5" },
    "x-ratelimit-reset-requests": "19s",
  };
  expect(await outcomeOf(engine, chat("a"))).toBe("a");
  upstream.answerHeaders = {};
  const lines = ["flex", "batch"].map((tier) => run(engine, chat("later", { tier: tier as "flex" | "batch" })));
  expect(await outcomeOf(engine, chat("b"))).toBe("b");
  expect(upstream.seen(CHAT)).toHaveLength(2);
  expect(access.gate.waiting).toBe(2);
  clock.ms += 3000;
  access.gate.pump();
  for (const { ended } of lines) expect(await ended).toBeNull();
});
