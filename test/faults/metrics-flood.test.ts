import { toFile } from "openai";
import { afterAll, beforeAll, expect, test } from "vitest";
import { complete, user } from "../api/ask.ts";
import { startServer, type TestServer } from "../api/server.ts";
import { chatLine, jsonl, reaches, submit } from "../batch/batch-rig.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startServer("--sequences", "4", "--threads", "1");
});
afterAll(() => server.stop());

/** Values that a client can choose. */
async function odd(i: number): Promise<void> {
  const { client, origin } = server;
  const word = `odd-${i}`;
  const headers = { "x-request-id": word, "user-agent": word, "openai-organization": word, "openai-project": word };
  const chat = {
    messages: [user(word)],
    max_tokens: 1,
    user: word,
    safety_identifier: word,
    metadata: { [word]: word },
  };
  await server.post("/v1/chat/completions", { ...chat, model: word }, headers);
  await server.post("/v1/chat/completions", { ...chat, model: "demo" }, headers);
  await server.post("/v1/chat/completions", { ...chat, model: "demo", service_tier: word }, headers);
  await server.post("/v1/embeddings", { model: word, input: word }, headers);
  await fetch(`${origin}/v1/${word}?${word}=${word}`, { method: i % 2 ? "DELETE" : "GET" });
  await client.files.create({ file: await toFile(Buffer.from("x\n"), `${word}.jsonl`), purpose: "batch" });
}

async function scrape(): Promise<{ bytes: number; series: number }> {
  const text = await (await fetch(`${server.origin}/metrics`)).text();
  return { bytes: text.length, series: text.split("\n").filter((line) => /^\w/.test(line)).length };
}

test("no request of a client adds a series to /metrics", async () => {
  const batchOf = (word: string) =>
    submit(server.client, jsonl([chatLine(word, word), { ...chatLine(`${word}-2`, word), url: `/v1/${word}` }]), {
      metadata: { [word]: word },
    });
  await complete(server.client, "Hello!");
  await odd(0);
  await reaches(server.client, (await batchOf("first")).id, "failed");
  // The ledger's row follows the answer within 100 ms.
  await server.reaches("nightshift_ledger_cost_usd_total", 1e-9);
  const before = await scrape();
  await Promise.all(Array.from({ length: 20 }, (_, i) => odd(i + 1)));
  const batches = await Promise.all(["a", "b", "c"].map(batchOf));
  for (const { id } of batches) await reaches(server.client, id, "failed");
  const after = await scrape();
  expect(after.series).toBe(before.series);
  // Only the digits of values grow.
  expect(after.bytes).toBeLessThan(1.1 * before.bytes);
  expect(after.bytes).toBeLessThan(256 * 1024);
});
