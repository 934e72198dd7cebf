import OpenAI, { toFile } from "openai";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { key as keySchema } from "../../openapi/resources/keys.ts";
import { usagePage } from "../../openapi/resources/organization-usage.ts";
import { complete, user } from "./ask.ts";
import { DEMO_MODEL, TestServer } from "./server.ts";
import { until } from "./until.ts";

const SECRET = /ns_[0-9a-f]{16}_[A-Za-z0-9_-]{43}/;
const CHAT = { model: "demo", max_tokens: 2, messages: [user("Hi")] };

let server: TestServer;
let adminKey: string;
let a: OpenAI;
let b: OpenAI;
beforeAll(async () => {
  server = new TestServer(["--api-keys", "on", "--model", `demo=${DEMO_MODEL}`, "--model", `other=${DEMO_MODEL}`]);
  await server.says("Ready");
  adminKey = SECRET.exec(server.output)?.[0] ?? "";
  a = client((await makeKey({ owner: "a", tiers: ["priority", "default", "batch"] })).key);
  b = client((await makeKey({ owner: "b", models: ["demo"] })).key);
});
afterAll(() => server.stop());

const client = (apiKey: string) => new OpenAI({ baseURL: `${server.origin}/v1`, apiKey, maxRetries: 0 });

async function makeKey(terms: object) {
  const authorization = `Bearer ${adminKey}`;
  const made = await server.post("/v1/nightshift/keys", { name: "test", ...terms }, { authorization });
  return keySchema.extend({ key: z.string() }).parse(await made.json());
}

test("the first start prints an administrator's key, and does not log it", () => {
  const lines = server.output.split("\n");
  expect(lines.filter((line) => line.includes(adminKey))).toEqual([`  ${adminKey}`]);
  expect(server.output.match(new RegExp(SECRET, "g"))).toHaveLength(1);
});

test("a missing or wrong key raises the SDK's AuthenticationError", async () => {
  await expect(server.client.models.list()).rejects.toBeInstanceOf(OpenAI.AuthenticationError);
  expect((await fetch(`${server.origin}/v1/models`)).status).toBe(401);
  expect((await fetch(`${server.origin}/ready`)).status).toBe(200);
});

test("a key can use its own models only, also in a batch", async () => {
  expect((await a.models.list()).data.map(({ id }) => id).sort()).toEqual(["demo", "other"]);
  expect((await b.models.list()).data.map(({ id }) => id)).toEqual(["demo"]);
  await complete(a, "Hi", { model: "other", max_tokens: 1 });
  const refused: unknown[] = [
    await b.models.retrieve("other").catch((error: unknown) => error),
    await b.chat.completions.create({ ...CHAT, model: "other" }).catch((error: unknown) => error),
    await b.embeddings.create({ model: "other", input: "x" }).catch((error: unknown) => error),
    await b.post("/tokenize", { body: { model: "other", prompt: "x" } }).catch((error: unknown) => error),
  ];
  const unknown: unknown = await b.models.retrieve("none").catch((error: unknown) => error);
  expect(unknown).toBeInstanceOf(OpenAI.NotFoundError);
  for (const error of refused) {
    expect(error).toBeInstanceOf(OpenAI.NotFoundError);
    expect(error).toMatchObject({ code: "model_not_found", param: "model" });
    expect(String(error).replace("other", "none")).toBe(String(unknown));
  }

  const line = { custom_id: "1", method: "POST", url: "/v1/chat/completions", body: { ...CHAT, model: "other" } };
  const file = await toFile(Buffer.from(`${JSON.stringify(line)}\n`), "in.jsonl");
  const ends = async (owner: OpenAI) => {
    const { id } = await owner.files.create({ file, purpose: "batch" });
    const made = { input_file_id: id, endpoint: "/v1/chat/completions", completion_window: "24h" } as const;
    const batch = await owner.batches.create(made);
    let status = batch.status;
    await until("the batch to end", async () => {
      ({ status } = await owner.batches.retrieve(batch.id));
      return status === "completed" || status === "failed";
    });
    return owner.batches.retrieve(batch.id);
  };
  expect((await ends(b)).errors?.data).toMatchObject([{ code: "model_not_found", param: "body.model", line: 1 }]);
  expect(await ends(a)).toMatchObject({ status: "completed", request_counts: { completed: 1 } });
});

test("a tier is refused to keys without it", async () => {
  expect((await complete(a, "Hi", { service_tier: "priority", max_tokens: 1 })).service_tier).toBe("priority");
  expect((await complete(b, "Hi", { service_tier: "flex", max_tokens: 1 })).service_tier).toBe("flex");
  const priority = await b.chat.completions.create({ ...CHAT, service_tier: "priority" }).catch((error) => error);
  expect(priority).toBeInstanceOf(OpenAI.PermissionDeniedError);
  expect(priority).toMatchObject({ code: "tier_not_allowed", param: "service_tier" });
  await expect(complete(a, "Hi", { service_tier: "flex" })).rejects.toMatchObject({ code: "tier_not_allowed" });
  const online = client((await makeKey({ owner: "a", tiers: ["default"] })).key);
  const body = { input_file_id: "file-x", endpoint: "/v1/chat/completions", completion_window: "24h" } as const;
  await expect(online.batches.create(body)).rejects.toMatchObject({ status: 403, code: "tier_not_allowed" });
});

test("a prefix of one owner is not cached for another (CVE-2025-46570)", async () => {
  const long = "The night shift works while others sleep. ".repeat(12);
  const cached = async (owner: OpenAI) =>
    (await complete(owner, long, { max_tokens: 1 })).usage?.prompt_tokens_details?.cached_tokens;
  const [one, other] = [client((await makeKey({ owner: "f" })).key), client((await makeKey({ owner: "g" })).key)];
  expect(await cached(one)).toBe(0);
  expect(await cached(one)).toBeGreaterThan(50);
  expect(await cached(other)).toBe(0);
});

test("a key reads its own owner's usage and costs, an administrator all", async () => {
  const one = await makeKey({ owner: "c" });
  await complete(client(one.key), "Hi", { max_tokens: 2 });
  const rows = async (key: string, more = "") => {
    const since = Math.floor(Date.now() / 1000) - 3600;
    const query = `start_time=${since}&group_by=project_id&group_by=api_key_id${more}`;
    const headers = { authorization: `Bearer ${key}` };
    const response = await fetch(`${server.origin}/v1/organization/usage/completions?${query}`, { headers });
    return usagePage.parse(await response.json()).data.flatMap(({ results }) => results);
  };
  await until("the row of owner c", async () => (await rows(one.key)).length > 0);
  expect(await rows(one.key)).toMatchObject([{ project_id: "c", api_key_id: one.id, num_model_requests: 1 }]);
  expect(await rows(one.key, "&project_ids=a")).toEqual([]);
  expect(await rows(one.key, "&project_ids=c&project_ids=a")).toHaveLength(1);
  const owners = new Set((await rows(adminKey)).map(({ project_id }) => project_id));
  expect([...owners].sort()).toEqual(["a", "b", "c", "f", "g"]);
  expect(new Set((await rows(adminKey, "&project_ids=a")).map(({ project_id }) => project_id))).toEqual(new Set(["a"]));
});

test("a key's change takes effect with the next request", async () => {
  const made = await makeKey({ owner: "d", budget: { daily_usd: 1.5, soft_ratio: 0.8 }, metadata: { team: "x" } });
  const admin = client(adminKey);
  const path = `/nightshift/keys/${made.id}`;
  const { key: secret, ...stored } = made;
  expect(await admin.get(path)).toEqual(stored);
  const changed = await admin.patch(path, { body: { budget: { monthly_usd: 20 }, metadata: null, concurrent: 2 } });
  const budget = { daily_usd: 1.5, monthly_usd: 20, soft_ratio: 0.8 };
  expect(changed).toEqual({ ...stored, budget, metadata: null, concurrent: 2 });
  await complete(client(secret), "Hi", { max_tokens: 1 });
  await admin.patch(path, { body: { scopes: ["usage"], budget: null } });
  await expect(complete(client(secret), "Hi")).rejects.toMatchObject({ status: 403, code: "missing_scope" });
  expect(await admin.get(path)).toMatchObject({ budget: { daily_usd: null, monthly_usd: null, soft_ratio: null } });
  await expect(admin.patch(path, { body: { expires_at: 5 } })).rejects.toMatchObject({ param: "expires_at" });
});

test("keys are listed in pages", async () => {
  for (const owner of ["e", "e", "e"]) await makeKey({ owner });
  const list = z.object({ data: z.array(z.object({ id: z.string() })), has_more: z.boolean(), last_id: z.string() });
  const admin = client(adminKey);
  const first = list.parse(await admin.get("/nightshift/keys?owner=e&limit=2"));
  const second = list.parse(await admin.get(`/nightshift/keys?owner=e&limit=2&after=${first.last_id}`));
  expect([first.data.length, first.has_more, second.data.length, second.has_more]).toEqual([2, true, 1, false]);
  expect(new Set([...first.data, ...second.data].map(({ id }) => id)).size).toBe(3);
});
