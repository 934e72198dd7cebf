import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type MessageBatch, messageBatch } from "../../openapi/anthropic/batches.ts";
import type { TestServer } from "../api/server.ts";
import { until } from "../api/until.ts";
import { KilledServers } from "./killed-servers.ts";

const FAILPOINTS = ["claim.after", "commit.after", "finalize.before-commit"];

const servers = new KilledServers(["batch.input", ...FAILPOINTS], [], "Ready");

const params = {
  model: "demo",
  max_tokens: 64,
  temperature: 0,
  messages: [{ role: "user", content: "What is 7 + 8?" }],
};
const BODY = { requests: ["a", "b"].map((custom_id) => ({ custom_id, params })) };

async function create(server: TestServer): Promise<MessageBatch> {
  const response = await server.post("/v1/messages/batches", BODY);
  return messageBatch.parse(await response.json());
}

/** The answers by custom_id, of a batch that ends. */
async function answers(server: TestServer, id: string): Promise<unknown[]> {
  const path = `${server.origin}/v1/messages/batches/${id}`;
  await until("the batch to end", async () => {
    return messageBatch.parse(await (await fetch(path)).json()).processing_status === "ended";
  });
  const lines = (await (await fetch(`${path}/results`)).text()).trim().split("\n");
  const found = lines.map((line) => Object(JSON.parse(line)));
  return found.map(({ custom_id, result }) => [custom_id, result.message?.content[0].text]).sort();
}

const ANSWERS = [
  ["a", "15"],
  ["b", "15"],
];

test("kill -9 before the answer to a creation leaves neither batch nor file, and the next try works", async () => {
  const doomed = await servers.running();
  const first = await create(doomed);
  expect(await answers(doomed, first.id)).toEqual(ANSWERS);
  const files = () => readdirSync(join(servers.dataDir, "files")).sort();
  const before = files();
  await servers.arm("batch.input");
  await expect(create(doomed)).rejects.toThrow();
  expect(files()).toHaveLength(before.length + 1);
  const server = await servers.next("batch.input");
  expect(files()).toEqual(before);
  expect((await server.client.files.list()).data.map(({ id }) => id).sort()).toEqual(before);
  expect((await server.client.batches.list()).data).toHaveLength(1);
  const again = await create(server);
  expect(await answers(server, again.id)).toEqual(ANSWERS);
});

test.each(FAILPOINTS)("kill -9 of the server at %s: each request has one result", async (failpoint) => {
  const doomed = await servers.running();
  await servers.arm(failpoint);
  const { id } = await create(doomed);
  const server = await servers.next(failpoint);
  expect(await answers(server, id)).toEqual(ANSWERS);
});
