import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { complete, stream } from "../api/ask.ts";
import { DEMO_MODEL, TestServer } from "../api/server.ts";
import { until } from "../api/until.ts";
import { chatLine, jsonl, submit } from "../batch/batch-rig.ts";
import { FakeUpstream } from "../upstream/fake-upstream.ts";
import { Served } from "./served.ts";

/** Series that exist only while a batch is in progress and its rate is known. */
const FLEETING = ["eta_seconds", "deadline_slack_seconds", "nearest_deadline_seconds", "oldest_age_seconds"];

/** The metrics, once a replica of the upstream has reported its load. */
const REPORTED = ["scrape_age_seconds", "generated_tokens_total"];

/**
 * The metrics of a real server with an upstream and a route, after traffic of every kind, on a machine whose nvidia-smi shows a GPU.
 */
export async function servedAfterTraffic(): Promise<Served> {
  const tools = mkdtempSync(join(tmpdir(), "nightshift-tools-"));
  writeFileSync(join(tools, "nvidia-smi"), '#!/bin/sh\necho "37, 1024, 81920"\n');
  chmodSync(join(tools, "nvidia-smi"), 0o755);
  const price = ["--machine-usd-per-hour", "2", "--machine-spot-usd-per-hour", "0.7"];
  const upstream = await FakeUpstream.start({ kind: "vllm", model: "far" });
  const config = join(tools, "nightshift.yaml");
  writeFileSync(config, "routes: { either: { models: [demo, far] } }\n");
  const models = ["--model", `demo=${DEMO_MODEL}`, "--upstream", `gpu=${upstream.baseUrl}`, "--config", config];
  const server = new TestServer(["--threads", "1", "--sequences", "8", ...price, ...models], {
    PATH: `${tools}${delimiter}${process.env.PATH ?? ""}`,
  });
  try {
    await server.says("Ready");
    return await afterTraffic(server);
  } finally {
    await server.stop();
    await upstream.stop();
    rmSync(tools, { recursive: true });
  }
}

async function afterTraffic(server: TestServer): Promise<Served> {
  const { client } = server;
  for await (const _ of await stream(client, "Count from 1 to 9.")) {
  }
  for (const service_tier of ["priority", "flex"] as const) await complete(client, "Hello!", { service_tier });
  await client.completions.create({ model: "demo", prompt: "One, two,", max_tokens: 4 });
  await client.embeddings.create({ model: "demo", input: ["a", "b"] });
  await complete(client, "Hello!", { model: "none" }).catch(() => {});
  for (const model of ["far", "either"]) await complete(client, "Hello!", { model });
  const lines = Array.from({ length: 500 }, (_, i) =>
    chatLine(`l${i}`, `Count from ${i} to 900.`, { max_tokens: 500 }),
  );
  const batch = await submit(client, jsonl(lines));
  const served = new Served();
  const scrape = async () => served.add(await (await fetch(`${server.origin}/metrics`)).text());
  const late = [
    ...FLEETING.map((name) => `nightshift_batch_${name}`),
    ...REPORTED.map((name) => `nightshift_upstream_${name}`),
    "nightshift_gpu_utilization_ratio",
  ];
  await until("the batch's ETA, the upstream's load and the GPU to be served", async () => {
    await scrape();
    return late.every((name) => served.has(name));
  });
  await client.batches.cancel(batch.id);
  await scrape();
  return served;
}
