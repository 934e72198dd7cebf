import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { costsPage, embeddingsUsagePage, usagePage } from "../../openapi/resources/organization-usage.ts";
import { complete, endless, stream } from "../api/ask.ts";
import { startServer, type TestServer } from "../api/server.ts";
import { until } from "../api/until.ts";
import { chatLine, jsonl, reaches, results, submit } from "./batch-rig.ts";

const CHAT = "/v1/chat/completions";
const EMBEDDINGS = "/v1/embeddings";
const CONTEXT = 1024;
const HOUR = 3600;
/** Unix seconds before all of this test, at the start of an hour of machine time. */
const START = Math.floor(Date.now() / 1000 / HOUR) * HOUR;

interface Sum {
  requests: number;
  input: number;
  cached: number;
  output: number;
  costNano: number;
}

const NOTHING: Sum = { requests: 0, input: 0, cached: 0, output: 0, costNano: 0 };

/** Charged and uncharged requests of every kind, on a server of its own. */
describe("the ledger", () => {
  let server: TestServer;
  const dataDir = mkdtempSync(join(tmpdir(), "nightshift-reconciliation-"));
  const args = ["--threads", "1", "--sequences", "8", "--context", String(CONTEXT), "--data-dir", dataDir];
  /** Usage in responses and result files, by endpoint and tier. */
  const answered = new Map<string, Sum>();

  function count(endpoint: string, tier: string, usage: OpenAI.CompletionUsage | OpenAI.CreateEmbeddingResponse.Usage) {
    const key = `${endpoint} ${tier}`;
    const { requests, input, cached, output } = answered.get(key) ?? NOTHING;
    const generated = "completion_tokens" in usage ? usage : null;
    answered.set(key, {
      ...NOTHING,
      requests: requests + 1,
      input: input + usage.prompt_tokens,
      cached: cached + (generated?.prompt_tokens_details?.cached_tokens ?? 0),
      output: output + (generated?.completion_tokens ?? 0),
    });
  }

  beforeAll(async () => {
    server = await startServer(...args, "--machine-usd-per-hour", "3.6");
    const { client } = server;
    await Promise.all([online(client), chatBatch(client), embeddingsBatch(client)]);
    await server.idle();
    const requests = [...answered.values()].reduce((sum, each) => sum + each.requests, 0);
    const charged = async () => [...(await ledger()).values()].reduce((sum, { requests }) => sum + requests, 0);
    await until("the row of the cancelled request", async () => (await charged()) > requests);
  });
  afterAll(async () => {
    await server.stop();
    rmSync(dataDir, { recursive: true, force: true });
  });

  async function online(client: OpenAI): Promise<void> {
    for (const service_tier of ["default", "flex", "priority"] as const) {
      const asked = [1, 2].map((i) => complete(client, `Count from ${i} to 7.`, { service_tier, n: i }));
      for (const { usage } of await Promise.all(asked)) count(CHAT, service_tier, usage!);
    }
    const { usage } = await client.completions.create({ model: "demo", prompt: ["One,", "Two,"], max_tokens: 5 });
    count("/v1/completions", "default", usage!);
    const read = await client.embeddings.create({ model: "demo", input: ["The cat sat.", "a"] });
    count(EMBEDDINGS, "default", read.usage);
    const leaving = new AbortController();
    for await (const { choices } of await stream(client, "Count from 1 to 99.", endless(900), leaving.signal))
      if (choices[0]?.delta.content) break;
    leaving.abort();
    await expect(complete(client, "Hello!", { temperature: 9 })).rejects.toMatchObject({ status: 400 });
  }

  async function chatBatch(client: OpenAI): Promise<void> {
    const good = Array.from({ length: 6 }, (_, i) => chatLine(`q${i}`, `What is ${i} + 7?`));
    const made = await submit(client, jsonl([...good, chatLine("long", "word ".repeat(2 * CONTEXT))]));
    const batch = await reaches(client, made.id, "completed");
    expect(batch.request_counts).toEqual({ total: 7, completed: 6, failed: 1 });
    const { output, errors } = await results(client, batch);
    expect(errors.map(({ custom_id }) => custom_id)).toEqual(["long"]);
    for (const { response } of output) count(CHAT, "batch", response!.body.usage!);
    const { input, output: generated, cached } = answered.get(`${CHAT} batch`)!;
    const details = { input_tokens: input, output_tokens: generated, input_tokens_details: { cached_tokens: cached } };
    expect(batch.usage).toMatchObject(details);
  }

  async function embeddingsBatch(client: OpenAI): Promise<void> {
    const line = (i: number) => {
      return { custom_id: `e${i}`, method: "POST", url: EMBEDDINGS, body: { model: "demo", input: `Text ${i}` } };
    };
    const made = await submit(client, jsonl([1, 2, 3].map(line)), { endpoint: EMBEDDINGS });
    const batch = await reaches(client, made.id, "completed");
    const { output } = await results(client, batch);
    for (const { response } of output) count(EMBEDDINGS, "batch", response!.body.usage!);
  }

  /** Sums by endpoint and tier. */
  function asked(path: string): Promise<unknown> {
    const query = { start_time: START, group_by: ["service_tier", "endpoint"] };
    return server.client.get<unknown>(`/organization/${path}`, { query });
  }

  async function ledger(): Promise<Map<string, Sum>> {
    const sums = new Map<string, Sum>();
    const generated = usagePage.parse(await asked("usage/completions"));
    for (const result of generated.data.flatMap((bucket) => bucket.results))
      sums.set(`${result.nightshift.endpoint} ${result.service_tier}`, {
        requests: result.num_model_requests,
        input: result.input_tokens,
        cached: result.input_cached_tokens,
        output: result.output_tokens,
        costNano: result.nightshift.cost_nano_usd,
      });
    const read = embeddingsUsagePage.parse(await asked("usage/embeddings"));
    for (const { nightshift, num_model_requests, input_tokens } of read.data.flatMap((bucket) => bucket.results))
      sums.set(`${nightshift.endpoint} ${nightshift.service_tier}`, {
        ...NOTHING,
        requests: num_model_requests,
        input: input_tokens,
        costNano: nightshift.cost_nano_usd,
      });
    return sums;
  }

  test("equals the usage in responses and files, and has cancelled requests' computed tokens", async () => {
    const sums = await ledger();
    expect([...sums.keys()].sort()).toEqual([...answered.keys()].sort());
    for (const [key, { requests, input, cached, output }] of answered) {
      const { costNano, ...sum } = sums.get(key)!;
      expect(costNano).toBeGreaterThan(0);
      if (key !== `${CHAT} default`) {
        expect([key, sum]).toEqual([key, { requests, input, cached, output }]);
        continue;
      }
      expect(sum.requests).toBe(requests + 1);
      expect(sum.input).toBeGreaterThan(input);
      expect(sum.output).toBeGreaterThan(output);
      expect(sum.output).toBeLessThan(output + 900);
    }
  });

  test("agrees with the metrics, series by series", async () => {
    const scrape = await server.metrics();
    for (const [key, sum] of await ledger()) {
      const [endpoint = "", tier = ""] = key.split(" ");
      const counted = (name: string, more = {}) => scrape.sum(`nightshift_${name}`, { endpoint, tier, ...more });
      expect([key, counted("prompt_tokens_total")]).toEqual([key, sum.input]);
      expect([key, counted("cached_prompt_tokens_total")]).toEqual([key, sum.cached]);
      expect([key, counted("generation_tokens_total")]).toEqual([key, sum.output]);
      const charged = counted("requests_total", { status: "ok" }) + counted("requests_total", { status: "cancelled" });
      // Failed lines and rejected requests are not included.
      expect([key, charged]).toEqual([key, sum.requests]);
      expect(counted("ledger_cost_usd_total") * 1e9).toBeCloseTo(sum.costNano, 3);
    }
  });

  test("and machine time are in the costs report, which agrees with the metrics", async () => {
    const costs = async () => costsPage.parse(await asked("costs")).data[0]!;
    const scrape = await server.metrics();
    const spent = scrape.sum("nightshift_machine_seconds_total");
    await until("the machine's time to be stored", async () => {
      const { seconds } = (await costs()).nightshift.machine!;
      return seconds.online + seconds.flex + seconds.batch >= spent - 1e-4;
    });
    const bucket = await costs();
    const charged = bucket.results.reduce((sum, { nightshift }) => sum + nightshift.cost_nano_usd, 0);
    expect(charged).toBe([...(await ledger()).values()].reduce((sum, { costNano }) => sum + costNano, 0));
    for (const { nightshift } of bucket.results) {
      const { endpoint, service_tier: tier, machine } = nightshift;
      const counted = scrape.sum("nightshift_machine_seconds_total", { endpoint: endpoint!, tier: tier! });
      expect(counted).toBeGreaterThan(0);
      // Stored in whole microseconds.
      expect(machine!.seconds).toBeCloseTo(counted, 4);
      expect(machine!.usd).toBeCloseTo(counted / 1000, 6);
    }
    const { up_seconds, seconds, usd } = bucket.nightshift.machine!;
    expect(up_seconds).toBeGreaterThan(spent);
    expect(seconds.online + seconds.flex + seconds.batch + seconds.idle).toBeCloseTo(up_seconds, 6);
    expect(usd).toBeCloseTo(up_seconds / 1000, 9);
    const steps = scrape.sum("nightshift_step_seconds_sum") + scrape.sum("nightshift_embedding_piece_seconds_sum");
    expect(spent).toBeCloseTo(steps, 6);
  });

  test("and machine time survive a crash, priced at the current machine price", async () => {
    const books = async () => ({ ledger: await ledger(), bucket: costsPage.parse(await asked("costs")).data[0]! });
    const before = await books();
    server.kill("SIGKILL");
    await server.exited;
    server = await startServer(...args, "--machine-usd-per-hour", "7.2");
    const after = await books();
    expect(after.ledger).toEqual(before.ledger);
    const seconds = ({ bucket }: typeof before) => bucket.results.map(({ nightshift }) => nightshift.machine!.seconds);
    expect(seconds(after)).toEqual(seconds(before));
    expect(after.bucket.results[0]!.nightshift.machine!.usd).toBeCloseTo(seconds(before)[0]! / 500, 9);
  });
});
