import { toFile } from "openai";
import { expect, test } from "vitest";
import { until } from "../api/until.ts";
import { saying } from "../unit/server/fake-engine.ts";
import { CHAT } from "../unit/server/test-server.ts";
import { ADMIN_KEY, type KeyedServer, startKeyedServer } from "./keys-rig.ts";

const LINES = Array.from({ length: 3 }, (_, index) =>
  JSON.stringify({ custom_id: `${index}`, method: "POST", url: "/v1/chat/completions", body: CHAT }),
).join("\n");

/** A batch with endless lines in the engine, and the key that created it. */
async function runningBatch(server: KeyedServer) {
  const [key, other] = [await server.key(), await server.key()];
  const client = server.client(key.key);
  server.engine.script = null;
  const file = await client.files.create({ file: await toFile(Buffer.from(LINES), "in.jsonl"), purpose: "batch" });
  const { id } = await client.batches.create({
    input_file_id: file.id,
    endpoint: "/v1/chat/completions",
    completion_window: "24h",
  });
  await until("a line to run", () => server.engine.pending > 0);
  const status = async () => (await server.client(other.key).batches.retrieve(id)).status;
  return { id, key, client, status };
}

test("a revoked key is 401 at once; its batch continues, charged to the key", async () => {
  const server = await startKeyedServer();
  const { key, client, status } = await runningBatch(server);
  expect((await server.call(ADMIN_KEY, "DELETE", `/v1/nightshift/keys/${key.id}`)).status).toBe(200);
  await expect(client.models.list()).rejects.toMatchObject({ status: 401, code: "invalid_api_key" });
  await expect(client.batches.list()).rejects.toMatchObject({ status: 401 });
  server.engine.script = saying("ok");
  for (const request of server.engine.requests) saying("ok")(request);
  await until("the batch to end", async () => (await status()) === "completed");
  const groupBy = { owner: true, keyId: true, endpoint: false, model: false, batch: true, tier: false };
  const all = { owners: null, keyIds: null, models: null, batch: null, kind: null, groupBy } as const;
  const sums = await server.store.usage.sums({ ...all, start: 0, end: 4e9, width: 4e9, limit: 10 });
  expect(sums).toMatchObject([{ owner: "a", keyId: key.id, batch: 1, requests: 3 }]);
});

test("a key revoked with cancel_batches has its batch cancelled", async () => {
  const server = await startKeyedServer();
  const { key, status } = await runningBatch(server);
  const path = `/v1/nightshift/keys/${key.id}?cancel_batches=true`;
  expect(await (await server.call(ADMIN_KEY, "DELETE", path)).json()).toMatchObject({ id: key.id, deleted: true });
  expect(["cancelling", "cancelled"]).toContain(await status());
});
