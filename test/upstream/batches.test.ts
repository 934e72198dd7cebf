import { join } from "node:path";
import Database from "better-sqlite3";
import { beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { readied, TestServer } from "../api/server.ts";
import { until } from "../api/until.ts";
import { chatLine, freshDataDir, ids, jsonl, reaches, results, submit } from "../batch/batch-rig.ts";
import { FakeUpstream } from "./fake-upstream.ts";
import { faulty } from "./faulty.ts";

const CHAT = "/v1/chat/completions";
/** Lines of each batch; UPSTREAM_BATCH_LINES=50000 makes the test a measurement. */
const COUNT = Number(process.env.UPSTREAM_BATCH_LINES ?? 150);
vi.setConfig({ testTimeout: 400_000 + COUNT * 100 });
const textOf = (nth: number) => `line ${nth} of many`;
const LINES = Array.from({ length: COUNT }, (_, nth) => chatLine(`l${nth}`, textOf(nth), { model: "m" }));

let fake: FakeUpstream;
let dataDir: string;
beforeEach(async () => {
  dataDir = freshDataDir();
  const started = await FakeUpstream.start({ kind: "vllm" });
  fake = started;
  onTestFinished(() => started.stop().catch(() => {}));
});

async function serve(): Promise<TestServer> {
  const server = await readied(new TestServer(["--upstream", `fake=${fake.baseUrl}`, "--data-dir", dataDir]));
  onTestFinished(() => server.stop());
  return server;
}

/** Resolves when this many lines have results. */
function answered(server: TestServer, id: string, count: number): Promise<void> {
  return until(`${count} lines to be answered`, async () => {
    const { request_counts: counts } = await server.client.batches.retrieve(id);
    return counts!.completed >= count;
  });
}

/** Each line has its answer once, and one charge, as the fake counted it. */
async function expectWhole(server: TestServer, id: string): Promise<void> {
  // A wait is as long as that for the next twentieth of the lines.
  for (let part = 1; part <= 20; part++) await answered(server, id, Math.floor((COUNT * part) / 20));
  const batch = await reaches(server.client, id, "completed");
  expect(batch.request_counts).toEqual({ total: COUNT, completed: COUNT, failed: 0 });
  const { output, errors } = await results(server.client, batch);
  expect(errors).toEqual([]);
  expect(ids(output)).toEqual(ids(LINES));
  const wrong = output.filter(({ custom_id, response }) => {
    return response?.body.choices[0]?.message.content !== textOf(Number(custom_id.slice(1)));
  });
  expect(wrong).toEqual([]);
  expect(batch.usage).toMatchObject({ input_tokens: 4 * COUNT, output_tokens: 4 * COUNT });
  const db = new Database(join(dataDir, "nightshift.db"), { readonly: true });
  const charged = db.prepare("SELECT count(*) AS rows, count(DISTINCT line) AS lines FROM ledger WHERE batch_id = ?");
  expect(charged.get(id)).toEqual({ rows: COUNT, lines: COUNT });
  db.close();
}

test("a batch over an upstream that fails in all ways has each line once, charged once", async () => {
  fake.script = faulty(1);
  const server = await serve();
  const { id } = await submit(server.client, jsonl(LINES));
  await expectWhole(server, id);
  expect(fake.seen(CHAT).length).toBeGreaterThan(COUNT);
  const metrics = await server.metrics();
  expect(metrics.sum("nightshift_upstream_inflight")).toBe(0);
  expect(metrics.sum("nightshift_upstream_queued")).toBe(0);
});

test("kill -9 of the server in the middle leaves each line once, charged once", async () => {
  fake.script = faulty(2);
  const doomed = await serve();
  const { id } = await submit(doomed.client, jsonl(LINES));
  await answered(doomed, id, COUNT / 4);
  await doomed.stop();
  await expectWhole(await serve(), id);
});

test("a restart of the upstream in the middle leaves each line once, charged once", async () => {
  // Answers that never end are ended by the restart.
  const wrong = faulty(3, true);
  let stalled = 0;
  fake.script = (request) => {
    const one = wrong(request);
    if (one?.kind === "stall") stalled++;
    return one;
  };
  const server = await serve();
  const { id } = await submit(server.client, jsonl(LINES));
  // One such answer may hold the only place that is left.
  await Promise.race([answered(server, id, COUNT / 4), until("an answer to stall", () => stalled > 0)]);
  await fake.stop();
  await until("the upstream to be missed", async () => {
    const metrics = await server.metrics();
    return metrics.sum("nightshift_upstream_requests_total", { status: "gone" }) > 0;
  });
  fake.script = (request) => {
    const one = wrong(request);
    return one?.kind === "stall" ? null : one;
  };
  await fake.restart();
  await expectWhole(server, id);
});

test("a model that vanishes has its batch wait, and no line fails", async () => {
  const server = await serve();
  fake.script = () => (fake.seen(CHAT).length > COUNT / 4 ? { kind: "stall", after: 1 } : null);
  const { id } = await submit(server.client, jsonl(LINES));
  await answered(server, id, COUNT / 8);
  fake.listed = false;
  await fake.stop();
  await fake.restart();
  const waiting = async () => {
    const batch: unknown = await server.client.batches.retrieve(id);
    return JSON.stringify(batch);
  };
  await until("the batch to wait", async () => (await waiting()).includes("does not serve this model now"));
  const error = await server.post(CHAT, { model: "m", messages: [{ role: "user", content: "not sent" }] });
  expect(error.status).toBe(503);
  expect(await error.json()).toMatchObject({ error: { code: "upstream_unavailable" } });
  expect(fake.seen(CHAT).filter(({ body }) => JSON.stringify(body).includes("not sent"))).toEqual([]);
  fake.script = () => null;
  fake.listed = true;
  await expectWhole(server, id);
});
