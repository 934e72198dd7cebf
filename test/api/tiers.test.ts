import { afterAll, beforeAll, expect, test } from "vitest";
import { usagePage } from "../../openapi/resources/organization-usage.ts";
import { complete, user } from "./ask.ts";
import { startServer, type TestServer } from "./server.ts";
import { until } from "./until.ts";

/** Price of a token of the demo model, in nano-dollars. */
const INPUT = 100;
const CACHED = 20;
const OUTPUT = 400;

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

interface Counts {
  prompt_tokens: number;
  completion_tokens: number;
  prompt_tokens_details?: { cached_tokens?: number };
}

/** The ledger's rows of one tier, once there are this many. */
async function charged(tier: string, requests: number) {
  let found: { num_model_requests: number; nightshift: { cost_nano_usd: number } } | undefined;
  const since = Math.floor(Date.now() / 1000) - 3600;
  const url = `${server.origin}/v1/organization/usage/completions?start_time=${since}&group_by=service_tier`;
  const written = async () => {
    const results = usagePage.parse(await (await fetch(url)).json()).data.flatMap((bucket) => bucket.results);
    found = results.find(({ service_tier }) => service_tier === tier);
    return found?.num_model_requests === requests;
  };
  await until(`${requests} requests at tier ${tier} in the ledger`, written);
  return found!;
}

test.each([
  ["priority", "priority", 1.75],
  ["default", "default", 1],
  ["flex", "flex", 0.5],
] as const)("%s is echoed, labelled and priced, whole and streamed, by both endpoints", async (asked, tier, factor) => {
  const tail = { max_tokens: 4, temperature: 0, service_tier: asked };
  const common = { model: "demo", messages: [user(`What is 7 + 8, ${tier}?`)], ...tail };
  const chat = await complete(server.client, common.messages, tail);
  const text = await server.client.completions.create({ model: "demo", prompt: "Once", ...tail });
  const counts: Counts[] = [chat.usage!, text.usage!];
  const tiers: unknown[] = [chat.service_tier, "service_tier" in text && text.service_tier];

  const withUsage = { stream: true, stream_options: { include_usage: true } } as const;
  for await (const chunk of await server.client.chat.completions.create({ ...common, ...withUsage })) {
    tiers.push(chunk.service_tier);
    if (chunk.usage) counts.push(chunk.usage);
  }
  const prompt = { model: "demo", prompt: "Once", ...tail, ...withUsage };
  for await (const chunk of await server.client.completions.create(prompt)) {
    tiers.push("service_tier" in chunk && chunk.service_tier);
    if (chunk.usage) counts.push(chunk.usage);
  }
  expect(new Set(tiers)).toEqual(new Set([tier]));

  const nano = counts.reduce((sum, { prompt_tokens, completion_tokens, prompt_tokens_details }) => {
    const cached = prompt_tokens_details?.cached_tokens ?? 0;
    return sum + (prompt_tokens - cached) * INPUT + cached * CACHED + completion_tokens * OUTPUT;
  }, 0);
  expect((await charged(tier, 4)).nightshift.cost_nano_usd).toBe(nano * factor);
  const metrics = await server.metrics();
  for (const endpoint of ["/v1/chat/completions", "/v1/completions"]) {
    expect(metrics.sum("nightshift_requests_total", { model: "demo", endpoint, tier, status: "ok" })).toBe(2);
  }
});
