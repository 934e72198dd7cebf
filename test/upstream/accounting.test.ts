import type OpenAI from "openai";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { usagePage } from "../../openapi/resources/organization-usage.ts";
import { complete, stream, user } from "../api/ask.ts";
import { failure } from "../api/failure.ts";
import { KeyedServer } from "../api/keyed.ts";
import { until } from "../api/until.ts";
import { chatLine, jsonl, reaches, submit } from "../batch/batch-rig.ts";
import { FakeUpstream } from "./fake-upstream.ts";
import type { Misbehaviour } from "./misbehaviour.ts";

const CHAT = "/v1/chat/completions";

let fake: FakeUpstream;
let keyed: KeyedServer;
beforeAll(async () => {
  fake = await FakeUpstream.start({ kind: "vllm", model: "m", cachedTokens: 1 });
  // A dollar for each token, ten cents for a cached one.
  keyed = await KeyedServer.start("--upstream", `fake=${fake.baseUrl}`, "--prices", "m=1000000/100000/1000000");
});
afterAll(async () => {
  await keyed.server.stop();
  await fake.stop();
});
beforeEach(() => {
  fake.script = () => null;
});

let owners = 0;
/** A client of a new owner, and what the ledger has of it. */
async function ownerWith(terms: object = {}) {
  const owner = `owner-${owners++}`;
  const { client } = await keyed.key({ owner, ...terms });
  const query = `start_time=${Math.floor(Date.now() / 1000) - 86_400}&project_ids=${owner}`;
  const rows = async () => {
    const page = usagePage.parse(await keyed.admin.get(`/organization/usage/completions?${query}`));
    return page.data.flatMap(({ results }) => results);
  };
  /** Requests, prompt tokens and answer tokens that are marked as estimates. */
  const estimates = async () =>
    (await rows()).map(({ nightshift }) => [
      ...[nightshift.estimated_requests, nightshift.estimated_input_tokens, nightshift.estimated_output_tokens],
    ]);
  const usage = async () => {
    return (await rows()).map(({ input_tokens, output_tokens, input_cached_tokens, num_model_requests }) => [
      ...[num_model_requests, input_tokens, input_cached_tokens, output_tokens],
    ]);
  };
  /** Resolves when the ledger has these requests, prompt tokens, cached tokens and answer tokens. */
  const charged = (...row: number[]) =>
    until(`the usage to be ${row}`, async () => JSON.stringify(await usage()) === JSON.stringify([row]));
  return { client, query, usage, estimates, charged };
}
const body = (content: string, more: object = {}): OpenAI.ChatCompletionCreateParamsNonStreaming => ({
  ...{ model: "m", messages: [user(content)], ...more },
});

describe("the ledger", () => {
  test("has the tokens that the upstream reports, of all answers", async () => {
    const { client, charged, estimates } = await ownerWith();
    await client.chat.completions.create(body("a b c"));
    await client.chat.completions.create(body("a b c", { n: 2 }));
    for await (const _ of await client.chat.completions.create({ ...body("x y"), stream: true }));
    await charged(3, 3 + 3 + 2, 3, 3 + 7 + 2);
    expect(await estimates()).toEqual([[0, 0, 0]]);
  });

  test("has embeddings", async () => {
    const { client, query } = await ownerWith();
    await client.embeddings.create({ model: "m", input: ["a b", "c"] });
    await until("the embeddings' usage", async () => {
      const page = await keyed.admin.get(`/organization/usage/embeddings?${query}`);
      return JSON.stringify(page).includes('"input_tokens":3');
    });
  });

  test.each<[string, Misbehaviour]>([
    ["500", { kind: "status", status: 500 }],
    ["a reset in the middle", { kind: "reset", after: 1 }],
    ["an error in the middle", { kind: "in-band error", after: 1, event: { error: { message: "x" } } }],
  ])("has nothing of a failure: %s", async (_, wrong) => {
    const { client, charged } = await ownerWith();
    fake.script = () => wrong;
    await failure(client.chat.completions.create(body("a b")));
    fake.script = () => null;
    await client.chat.completions.create(body("a"));
    await charged(1, 1, 1, 1);
  });

  test("has one charge of a request that needed several attempts", async () => {
    const { client, charged } = await ownerWith();
    let asked = 0;
    fake.script = () => (asked++ === 0 ? { kind: "status", status: 500 } : null);
    await client.chat.completions.create(body("a b"));
    await charged(1, 2, 1, 2);
  });

  test("has an estimate of a client that left, and no more than it has seen of the answer", async () => {
    const { client, usage, estimates } = await ownerWith();
    fake.script = () => ({ kind: "stall", after: 2 });
    const chunks = (await stream(client, "abcdefgh ijkl", { model: "m" }))[Symbol.asyncIterator]();
    await chunks.next();
    await chunks.next();
    await chunks.return?.();
    await until("the usage", async () => (await usage()).length === 1);
    const [[requests, input, cached, output]] = (await usage()) as [[number, number, number, number]];
    expect([requests, cached]).toEqual([1, 0]);
    expect(input).toBeGreaterThan(2);
    expect([1, 2]).toContain(output);
    expect(await estimates()).toEqual([[1, input, output]]);
  });
});

describe("usage that cannot be right", () => {
  test.each(["missing", "zero", "lying", "boundless"] as const)("is estimated: %s", async (usage) => {
    const { client, charged, estimates } = await ownerWith();
    await client.chat.completions.create(body("a b"));
    const before = (await keyed.server.metrics()).sum("nightshift_upstream_usage_estimated_total");
    fake.script = () => ({ kind: "usage", usage });
    const answer = await client.chat.completions.create(body("count 20"));
    // Twenty pieces of text, of a number and the space before it.
    expect(answer.usage!.completion_tokens).toBe(20);
    const { prompt_tokens } = answer.usage!;
    await charged(2, 2 + prompt_tokens, 1, 2 + 20);
    expect(await estimates()).toEqual([[1, prompt_tokens, 20]]);
    const after = (await keyed.server.metrics()).sum("nightshift_upstream_usage_estimated_total");
    expect(after - before).toBe(1);
  });

  test.each(["missing", "zero", "boundless"] as const)("is estimated of embeddings: %s", async (usage) => {
    const { client, query } = await ownerWith();
    const before = (await keyed.server.metrics()).sum("nightshift_upstream_usage_estimated_total");
    await client.embeddings.create({ model: "m", input: "a b" });
    fake.script = () => ({ kind: "usage", usage });
    const answer = await client.embeddings.create({ model: "m", input: "abcdefgh" });
    expect(answer.usage.prompt_tokens).toBe(2);
    await until("the embeddings' usage", async () => {
      const page = JSON.stringify(await keyed.admin.get(`/organization/usage/embeddings?${query}`));
      return page.includes('"input_tokens":4') && page.includes('"estimated_requests":1,"estimated_input_tokens":2');
    });
    const after = (await keyed.server.metrics()).sum("nightshift_upstream_usage_estimated_total");
    expect(after - before).toBe(1);
  });

  test("is marked in the rows of batch lines", async () => {
    const { client, charged, estimates } = await ownerWith();
    const lines = ["a b c", "count 5"].map((text) => chatLine(text, text, { model: "m" }));
    fake.script = ({ body: asked }) => {
      return JSON.stringify(asked).includes("count 5") ? { kind: "usage", usage: "zero" } : null;
    };
    await reaches(client, (await submit(client, jsonl(lines))).id, "completed");
    const prompt = Math.ceil("user\ncount 5".length / 4);
    await charged(2, 3 + prompt, 1, 3 + 5);
    expect(await estimates()).toEqual([[1, prompt, 5]]);
  });

  test("is none where it comes twice", async () => {
    const { client, charged } = await ownerWith();
    fake.script = () => ({ kind: "usage", usage: "twice" });
    await client.chat.completions.create(body("a b c"));
    await charged(1, 3, 1, 3);
  });
});

describe("limits and budgets", () => {
  test("refuse before anything is sent", async () => {
    const { client } = await ownerWith({ requests_per_minute: 1 });
    await client.chat.completions.create(body("a"));
    const sent = fake.seen(CHAT).length;
    expect(await failure(client.chat.completions.create(body("a")))).toMatchObject({ status: 429 });
    expect(fake.seen(CHAT)).toHaveLength(sent);
  });

  test("hold the highest cost of a request, and settle by its usage", async () => {
    const { client, charged } = await ownerWith({ budget: { monthly_usd: 20 } });
    // Held are some twelve dollars, and about one is used.
    const dear = body("one", { max_tokens: 10 });
    for (let i = 1; i <= 5; i++) {
      await client.chat.completions.create(dear);
      await charged(i, i, i, i);
    }
    fake.script = () => ({ kind: "stall", after: 1 });
    const abort = new AbortController();
    const sent = fake.seen(CHAT).length;
    const stalled = client.chat.completions.create(body("a b", { max_tokens: 30 }), { signal: abort.signal });
    await fake.arrival(CHAT, sent);
    expect(await failure(client.chat.completions.create(dear))).toMatchObject({
      status: 429,
      code: "insufficient_quota",
    });
    abort.abort();
    await expect(stalled).rejects.toThrow();
    fake.script = () => null;
    await until("the held money to be free", async () => {
      return (await client.chat.completions.create(dear).catch(() => null)) !== null;
    });
  });

  test("are not taken by failures", async () => {
    const { client } = await ownerWith({ budget: { monthly_usd: 20 } });
    fake.script = () => ({ kind: "status", status: 400 });
    for (let i = 0; i < 4; i++) await failure(client.chat.completions.create(body("one", { max_tokens: 10 })));
    fake.script = () => null;
    expect((await complete(client, "one", { model: "m", max_tokens: 10 })).choices[0]!.message.content).toBe("one");
  });
});
