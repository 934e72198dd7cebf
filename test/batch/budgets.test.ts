import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { complete, endless, stream } from "../api/ask.ts";
import { failure } from "../api/failure.ts";
import { HeldSteps } from "../api/held-steps.ts";
import { KeyedServer } from "../api/keyed.ts";
import { until } from "../api/until.ts";
import { chatLine, freshDataDir, jsonl, reaches, submit, uploadText } from "./batch-rig.ts";

/** USD per million tokens; a batch pays half. */
const PRICES = ["--prices", "demo=10/5/20"];
const COUNT = 40;
const LINES = jsonl(
  Array.from({ length: COUNT }, (_, i) => chatLine(`line-${i}`, `What is ${i % 20} + 3?`, { ignore_eos: true })),
);
/** A line costs at least eight answer tokens; no prompt here has more tokens than its line has bytes. */
const LEAST_USD = (8 * 20 * 0.5) / 1e6;
const BOUND_USD = LEAST_USD + (200 * 10 * 0.5) / 1e6;

async function withServer(run: (keyed: KeyedServer) => Promise<void>, ...args: string[]): Promise<void> {
  const keyed = await KeyedServer.start(...PRICES, ...args);
  try {
    await run(keyed);
  } finally {
    await keyed.server.stop();
  }
}

/** The ledger's sum, and the sums of the budgets. */
function sums(dataDir: string) {
  const db = new Database(join(dataDir, "nightshift.db"), { readonly: true });
  try {
    const spending = db.prepare("SELECT scope, subject, day, nano FROM spending WHERE nano > 0 ORDER BY 1, 2, 3").all();
    const ledger = db.prepare(
      `SELECT 'key' AS scope, key_id AS subject, day, sum(cost_nano) AS nano FROM ledger WHERE key_id NOT NULL GROUP BY 2, 3
       UNION ALL SELECT 'owner', owner, day, sum(cost_nano) FROM ledger GROUP BY 2, 3 ORDER BY 1, 2, 3`,
    );
    return { spending, ledger: ledger.all() };
  } finally {
    db.close();
  }
}

test("a batch pauses at its key's budget with a reason, and resumes when it is raised", () =>
  withServer(async (keyed) => {
    // Enough for most lines today, and for all with tomorrow's budget.
    const daily_usd = COUNT * LEAST_USD * 0.85;
    const { id, client } = await keyed.key({ requests_per_minute: 1, budget: { daily_usd } });
    const batch = await submit(client, LINES);
    const night = async (): Promise<{ phase: string; reason: string; eta: number | null }> =>
      Object(await client.batches.retrieve(batch.id)).nightshift;
    // Ended lines release reservations, which lets others start.
    const spent = async () => /^paused: the key's daily budget .* is used up/.test((await night()).reason);
    await until("the batch to pause", spent);
    const { phase, reason, eta } = await night();
    expect({ phase, eta }).toEqual({ phase: "waiting", eta: null });
    expect(reason).toMatch(/the batch continues at \d{4}-\d\d-\d\dT00:00:00Z, or when the budget is raised$/);
    const paused = await client.batches.retrieve(batch.id);
    expect(paused.status).toBe("in_progress");
    expect(paused.request_counts!.completed).toBeGreaterThan(0);
    expect(paused.request_counts!.completed).toBeLessThan(COUNT);
    const { spending } = await keyed.owner("team");
    expect(spending.day_usd).toBeGreaterThanOrEqual(daily_usd);
    expect(spending.day_usd).toBeLessThan(daily_usd + BOUND_USD);
    expect((await keyed.server.metrics()).sum("nightshift_batch_paused", { model: "demo" })).toBe(1);

    // The key has nothing left for other requests; its owner's other keys have.
    expect((await failure(complete(client, "Hi"))).code).toBe("insufficient_quota");
    await complete((await keyed.key()).client, "Hi", { max_tokens: 2 });

    await keyed.patchKey(id, { budget: { daily_usd: 1 } });
    const done = await reaches(client, batch.id, "completed");
    // Forty lines count none of the key's one request per minute.
    expect(done.request_counts).toEqual({ total: COUNT, completed: COUNT, failed: 0 });
    const { response } = await client.chat.completions
      .create({ model: "demo", messages: [{ role: "user", content: "Hi" }], max_tokens: 2 })
      .withResponse();
    expect(response.headers.get("x-ratelimit-remaining-requests")).toBe("0");
    await until("nothing to be held back", async () => (await keyed.owner("team")).spending.held_usd === 0);
  }));

test("a batch that certainly exceeds its budget is rejected", () =>
  withServer(async (keyed) => {
    const poor = await keyed.key({ budget: { monthly_usd: COUNT * LEAST_USD * 0.4 } });
    const error = await failure(submit(poor.client, LINES));
    expect(error).toMatchObject({ status: 429, code: "insufficient_quota", type: "insufficient_quota" });
    expect(error.headers?.get("x-should-retry")).toBe("false");
    const broke = await keyed.key({ budget: { daily_usd: 0 } });
    expect((await failure(submit(broke.client, LINES))).message).toContain("You have used up the key's daily budget");
    expect((await keyed.admin.get<{ data: unknown[] }>("/batches")).data).toEqual([]);
    expect((await poor.client.batches.list()).data).toEqual([]);
    // A batch that was created before is returned again.
    const fair = await keyed.key({ owner: "fair", budget: { monthly_usd: 1 } });
    const input_file_id = await uploadText(fair.client, LINES);
    const request = { input_file_id, endpoint: "/v1/chat/completions", completion_window: "24h" } as const;
    const once = { headers: { "Idempotency-Key": "once" } };
    const { id } = await fair.client.batches.create(request, once);
    await keyed.patchKey(fair.id, { budget: { monthly_usd: 0 } });
    expect((await fair.client.batches.create(request, once)).id).toBe(id);
    expect((await failure(fair.client.batches.create(request))).code).toBe("insufficient_quota");
  }));

test("an excess over the budget beyond the preview fails at validation", () =>
  withServer(async (keyed) => {
    // The beginning is cheap and much longer than the preview; the rest is not.
    const cheap = Array.from({ length: 700 }, (_, i) => chatLine(`a-${i}`, "Hi", { max_tokens: 1 }));
    const dear = Array.from({ length: 300 }, (_, i) => chatLine(`b-${i}`, "What? ".repeat(80), { max_tokens: 200 }));
    const { client } = await keyed.key({ budget: { monthly_usd: 0.05 } });
    const batch = await reaches(client, (await submit(client, jsonl([...cheap, ...dear]))).id);
    expect(batch.status).toBe("failed");
    expect(batch.errors?.data).toMatchObject([{ code: "insufficient_quota", line: null }]);
  }));

test("a key's enqueued tokens are those of its open batches", () =>
  withServer(
    async (keyed) => {
      const { client } = await keyed.key({ enqueued_tokens: 1000 });
      const first = await submit(client, LINES);
      const error = await failure(submit(client, LINES));
      expect(error).toMatchObject({ status: 429, code: "rate_limit_exceeded" });
      expect(error.message).toMatch(/Try again when some of your batches have ended\.$/);
      expect(error.headers?.get("x-should-retry")).toBe("false");
      const { client: narrow } = await keyed.key({ enqueued_tokens: 10 });
      expect((await failure(submit(narrow, LINES))).message).toMatch(/more than the limit by itself: split it/);
      await client.batches.cancel(first.id);
      await reaches(client, first.id, "cancelled");
      await submit(client, LINES);
    },
    "--shift",
    "off",
  ));

test("kill -9 leaves no reservations, and spending equals the ledger", async () => {
  const dataDir = freshDataDir();
  let used = { id: "", key: "" };
  const steps = new HeldSteps();
  const doomed = await KeyedServer.startWith(steps.env, ...PRICES, "--data-dir", dataDir, "--sequences", "8");
  try {
    const { id, client } = await doomed.key({ budget: { daily_usd: 1 } });
    used = { id, key: client.apiKey! };
    await doomed.owner("team", { monthly_usd: 2 });
    await complete(client, "Hi", { max_tokens: 4 });
    const long = Array.from({ length: 24 }, (_, i) => chatLine(`long-${i}`, "Hi", { ...endless(30) }));
    steps.allow(0);
    await submit(client, jsonl(long));
    await doomed.server.reaches("nightshift_batch_lines_in_engine", 16);
    // Enough steps for running lines to end, and not for the next ones.
    steps.allow(50);
    await doomed.server.reaches("nightshift_batch_lines_total", 3);
    // Grants the stream's steps once it exists: lines would use earlier ones.
    const first = stream(client, "Count from 1 to 20.", endless(100)).then((chunks) =>
      chunks[Symbol.asyncIterator]().next(),
    );
    await until("the stream to be in the engine", async () => {
      const metrics = await doomed.server.metrics();
      return metrics.sum("nightshift_requests_waiting") + metrics.sum("nightshift_requests_running") > 0;
    });
    steps.allow(20);
    await first;
    expect((await doomed.owner("team")).spending.held_usd).toBeGreaterThan(0);
    doomed.server.kill("SIGKILL");
    await doomed.server.exited;
  } finally {
    await doomed.server.stop();
  }
  const before = sums(dataDir);
  expect(before.spending).toEqual(before.ledger);
  expect(before.spending).toHaveLength(2);

  const keyed = await KeyedServer.start(...PRICES, "--data-dir", dataDir);
  try {
    const client = keyed.clientOf(used.key);
    const [batch] = (await client.batches.list()).data;
    await reaches(client, batch!.id, "completed");
    await complete(client, "Hi", { max_tokens: 4 });
    await until("nothing to be held back", async () => (await keyed.owner("team")).spending.held_usd === 0);
  } finally {
    await keyed.server.stop();
  }
  const after = sums(dataDir);
  expect(after.spending).toEqual(after.ledger);
});
