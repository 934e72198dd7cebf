import type OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { complete, user } from "./ask.ts";
import { HeldSteps } from "./held-steps.ts";
import { readied, startServer, TestServer } from "./server.ts";
import { until } from "./until.ts";

/** Long prompts whose only common prefix is that of the template. */
const TOPICS = ["apples", "rivers", "stones", "clouds", "gardens"];

function about(topic: string, question: string): OpenAI.ChatCompletionMessageParam[] {
  return [{ role: "system", content: `You know all about ${topic}. `.repeat(30) }, user(question)];
}

const cachedOf = ({ usage }: OpenAI.ChatCompletion) => usage!.prompt_tokens_details!.cached_tokens!;

describe.each([
  ["split", ["--kv", "split", "--sequences", "2"]],
  ["unified", ["--kv", "unified", "--cells", "1024", "--context", "768", "--sequences", "4"]],
])("prefixes evicted from a %s cache", (_, args) => {
  const steps = new HeldSteps();
  let server: TestServer;
  beforeAll(async () => {
    // The tax bounds the copies of lower tiers: on a busy machine the default is soon used up.
    const options = ["--threads", "1", "--batch-tax", "5", "--park-memory", "64MiB", ...args];
    server = await readied(new TestServer(options, steps.env));
  });
  afterAll(() => server.stop());

  const metric = async (name: string) => (await server.metrics()).sum(`nightshift_${name}`);

  test("come back from host memory with the same answers", async () => {
    const round = async () => {
      const answers: OpenAI.ChatCompletion[] = [];
      for (const topic of TOPICS) answers.push(await complete(server.client, about(topic, "Count from 3 to 21.")));
      return answers;
    };
    const first = await round();
    const again = await round();
    expect(again.map(({ choices }) => choices[0]!.message.content)).toEqual(
      first.map(({ choices }) => choices[0]!.message.content),
    );
    for (const answer of again) expect(cachedOf(answer)).toBeGreaterThan(150);
    expect(await metric("cache_parked_total")).toBeGreaterThanOrEqual(TOPICS.length - 2);
    expect(await metric("cache_resumed_tokens_total")).toBeGreaterThan(TOPICS.length * 150);
    expect(await metric("park_memory_bytes")).toBeGreaterThan(0);
  });

  test("a preempted sequence ends with the answer that it has alone", async () => {
    // Short, so that every token is certain: steps of other sequences change log probabilities in their third digit.
    const messages = [user("Count from 3 to 21.")];
    const alone = await complete(server.client, messages, { max_tokens: 90 });
    const text = alone.choices[0]!.message.content!;
    const flex = () => {
      const body = { model: "demo", messages, temperature: 0, max_tokens: 90 };
      return server.client.chat.completions.create({ ...body, service_tier: "flex" });
    };
    const inServer = async () => (await metric("requests_running")) + (await metric("requests_waiting"));
    // Online requests arrive while the sequences fill all places and none has ended.
    steps.allow(0);
    const lower = Array.from({ length: 12 }, flex);
    await until("the flex requests to wait", async () => (await inServer()) === lower.length);
    steps.allow(10);
    await server.reaches("nightshift_requests_running", 1);
    const online = TOPICS.map((topic) => complete(server.client, about(topic, "Count from 3 to 21.")));
    await until("the online requests to wait", async () => (await inServer()) === lower.length + online.length);
    steps.release();
    await Promise.all(online);
    for (const answer of await Promise.all(lower)) expect(answer.choices[0]!.message.content).toBe(text);
    expect(await metric("sequences_displaced_total")).toBeGreaterThan(0);
    await server.idle();
  });
});

test("without host memory an evicted prefix is computed again", async () => {
  const server = await startServer("--threads", "1", "--kv", "split", "--sequences", "2", "--park-memory", "0");
  try {
    for (const topic of TOPICS) await complete(server.client, about(topic, "Hello"), { max_tokens: 1 });
    const again = await complete(server.client, about(TOPICS[0]!, "Hello"), { max_tokens: 1 });
    expect(cachedOf(again)).toBeLessThan(20);
    const metrics = await server.metrics();
    expect(metrics.sum("nightshift_cache_evictions_total")).toBeGreaterThan(0);
    expect(metrics.sum("nightshift_cache_parked_total")).toBe(0);
  } finally {
    await server.stop();
  }
});
