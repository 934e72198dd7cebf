import { beforeEach, expect, it } from "vitest";
import { TokenQuota } from "../../../../batch/validation/token-quota.ts";
import { OWN_NAMES } from "../../../../engine/model-names.ts";
import { DEFAULT_REQUEST_LIMITS } from "../../../../openapi/request-limits.ts";
import { FakeEngine, saying } from "../../server/fake-engine.ts";
import { batchRig, CALLER, OWNER } from "../batch-rig.ts";
import { pass, stopTime } from "../stopped-time.ts";

beforeEach(stopTime);

const line = (custom_id: string, model = "demo") =>
  JSON.stringify({
    custom_id,
    method: "POST",
    url: "/v1/chat/completions",
    body: { model, messages: [{ role: "user", content: "Hi" }], max_tokens: 4 },
  });

it("a batch that a budget blocks expires with its window", async () => {
  const engine = new FakeEngine();
  // Answers that are far longer than the lines allow cost more than was reserved for them.
  engine.script = saying(..."a".repeat(100));
  const rig = await batchRig(engine, { windowSeconds: 600 });
  await rig.store.budgets.setOwner({ owner: OWNER, dailyNano: 1e6, monthlyNano: null, softRatio: null });
  const id = await rig.submit(Array.from({ length: 200 }, (_, i) => line(`line-${i}`)).join("\n"));
  await expect.poll(async () => (await rig.get(id)).nightshift.reason).toMatch(/^paused: the owner's daily/);
  await pass(600);
  const { request_counts, error_file_id } = await rig.reaches(id, "expired");
  expect(request_counts.completed).toBeGreaterThan(0);
  const errors = rig.read(error_file_id);
  expect(errors.length).toBe(200 - request_counts.completed);
  expect(new Set(errors.map(({ error }) => error?.code))).toEqual(new Set(["batch_expired"]));
  expect(engine.requests.length).toBe(request_counts.completed);
});

it("a batch pauses while a request reserves the rest of the budget, and resumes after it", async () => {
  const engine = new FakeEngine();
  engine.script = saying("a");
  const rig = await batchRig(engine);
  await rig.store.budgets.setOwner({ owner: OWNER, dailyNano: 1e6, monthlyNano: null, softRatio: null });
  const day = Math.floor(Date.now() / 86_400_000);
  await rig.store.budgets.reserve({ id: "request", owner: OWNER, keyId: null, day, nano: 1e6 });
  const id = await rig.submit(line("a"));
  await expect
    .poll(async () => (await rig.get(id)).nightshift.reason)
    .toMatch(/^paused: the rest of the owner's .* that batches may use is reserved/);
  await rig.store.budgets.release({ ids: ["request"] });
  const batch = await rig.reaches(id, "completed");
  expect(batch.request_counts).toEqual({ total: 1, completed: 1, failed: 0 });
});

it("a batch of a free model is accepted on a budget of 0", async () => {
  const rig = await batchRig(new FakeEngine());
  await rig.store.budgets.setOwner({ owner: OWNER, dailyNano: null, monthlyNano: 0, softRatio: null });
  const input_file_id = await rig.upload(line("a"));
  const request = { input_file_id, endpoint: "/v1/chat/completions", completion_window: "24h" } as const;
  const ask = (nano: number) =>
    new TokenQuota({
      ...rig,
      ledger: { lineRates: () => ({ inputNano: nano, outputNano: nano }) },
      limits: DEFAULT_REQUEST_LIMITS,
      models: () => ["demo"],
      names: OWN_NAMES,
      bounds: () => rig.runner.bounds(),
      usualAnswer: () => 9,
      clock: rig.time,
    }).check(CALLER, request, rig.time.epochMs() / 1000 + 86_400, null);
  expect(await ask(0)).toBeGreaterThan(0);
  await expect(ask(1)).rejects.toMatchObject({ status: 429, code: "insufficient_quota" });
});

it.each(["demo", "gpt-4o", "any-other"])(
  "a batch is refused by the price of the model that '%s' means",
  async (model) => {
    const names = { aliases: { "gpt-4o": "demo" }, otherwise: "demo" };
    const rig = await batchRig(new FakeEngine(), { names });
    await rig.store.budgets.setOwner({ owner: OWNER, dailyNano: 1, monthlyNano: null, softRatio: null });
    await expect(rig.submit(line("a", model))).rejects.toMatchObject({ status: 429, code: "insufficient_quota" });
  },
);
