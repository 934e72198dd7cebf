import { afterEach, beforeEach, expect, test } from "vitest";
import { costsPage, type UsageResult, usagePage } from "../../../../openapi/resources/organization-usage.ts";
import { ledgerRow } from "../../store/rows.ts";
import { saying } from "../fake-engine.ts";
import { CHAT, startTestServer, type TestServer } from "../test-server.ts";

const DAY = 86_400;
let server: TestServer;
beforeEach(async () => {
  server = await startTestServer();
});
afterEach(() => server.close());

async function get(path: string) {
  const response = await fetch(server.url + path);
  return { status: response.status, body: await response.json() };
}

/** The one sum of all that was used, once the cost of it is counted. */
async function charged(tier: string): Promise<UsageResult> {
  const counted = `nightshift_ledger_cost_usd_total{model="demo",endpoint="/v1/chat/completions",tier="${tier}"} 0.`;
  await expect.poll(() => server.metrics.registry.metrics()).toContain(counted);
  const { body } = await get("/v1/organization/usage/completions?start_time=1699999000&group_by=service_tier");
  const results = usagePage.parse(body).data.flatMap((bucket) => bucket.results);
  expect(results).toHaveLength(1);
  return results[0]!;
}

test("a chat request is one ledger row, at its tier and price", async () => {
  server.engine.script = (request) => request.begin(5, 2).say("a").say("b").finish();
  expect((await server.post("/v1/chat/completions", { ...CHAT, service_tier: "priority" })).status).toBe(200);
  const cost = (3 * 1000 + 2 * 500 + 2 * 2000) * 1.75;
  expect(await charged("priority")).toMatchObject({
    input_tokens: 5,
    input_cached_tokens: 2,
    output_tokens: 2,
    num_model_requests: 1,
    service_tier: "priority",
    model: null,
    nightshift: { cost_nano_usd: cost, default_cost_nano_usd: cost / 1.75 },
  });
});

test("a client that disconnects is charged for the computed tokens, a refused one is not", async () => {
  server.engine.script = (request) => request.begin(5, 0).say("a").say("b", { tokens: 2 });
  const leaving = new AbortController();
  const { signal } = leaving;
  const response = await server.post("/v1/chat/completions", { ...CHAT, stream: true }, { signal });
  await response.body?.getReader().read();
  leaving.abort();
  expect((await server.post("/v1/chat/completions", { ...CHAT, temperature: 9 })).status).toBe(400);
  expect(await charged("default")).toMatchObject({ input_tokens: 5, output_tokens: 3, num_model_requests: 1 });
});

test("reports have daily buckets with empty ones, pages, groups and filters", async () => {
  const rows = [
    ledgerRow({ time: 10 * DAY + 5 }),
    ledgerRow({ time: 10 * DAY + 6, model: "other", tier: "batch", batchId: "b", line: 1, costNano: 500 }),
    ledgerRow({ time: 12 * DAY }),
  ];
  await server.store.ledger.insert({ rows });
  const path = `/v1/organization/usage/completions?start_time=${10 * DAY}&end_time=${13 * DAY}`;
  const first = usagePage.parse((await get(`${path}&limit=2&group_by[]=model&group_by[]=batch`)).body);
  expect(first.data.map(({ start_time, results }) => [start_time / DAY, results.length])).toEqual([
    [10, 2],
    [11, 0],
  ]);
  expect(first.data[0]?.results).toMatchObject([
    { model: "demo", batch: false, num_model_requests: 1, input_cached_tokens: 40, input_uncached_tokens: 60 },
    { model: "other", batch: true, num_model_requests: 1 },
  ]);
  expect(first.has_more).toBe(true);
  // Usage between two pages moves none of their buckets.
  await server.store.ledger.insert({ rows: [ledgerRow({ time: 11 * DAY, model: "late" })] });
  const second = usagePage.parse((await get(`${path}&limit=2&page=${first.next_page}`)).body);
  expect(second.data).toMatchObject([{ start_time: 12 * DAY, results: [{ num_model_requests: 1, model: null }] }]);
  expect(second.next_page).toBeNull();
  const batch = usagePage.parse((await get(`${path}&batch=true`)).body);
  expect(batch.data.flatMap(({ results }) => results)).toMatchObject([{ num_model_requests: 1 }]);
  const none = usagePage.parse((await get(`${path}&models=absent`)).body);
  expect(none.data.flatMap(({ results }) => results)).toEqual([]);

  const costs = costsPage.parse(
    (await get(`/v1/organization/costs?start_time=${10 * DAY}&end_time=${11 * DAY}&group_by=line_item`)).body,
  );
  expect(costs.data[0]?.results).toMatchObject([
    { amount: { value: 0.000001, currency: "usd" }, line_item: "demo, default", quantity: 110 },
    { amount: { value: 0.0000005, currency: "usd" }, line_item: "other, batch", quantity: 110 },
  ]);
});

test("costs have machine time, except with a filter by project or key", async () => {
  const hour = 10 * DAY + 3600;
  await server.store.ledger.insert({
    rows: [ledgerRow({ time: hour + 5 }), ledgerRow({ time: hour + 6, tier: "flex" })],
  });
  const busy = { model: "demo", endpoint: "/v1/chat/completions", busyUs: 500_000 };
  const spell = { now: hour + 7, upUs: 2e6, busy: [{ ...busy, tier: "default" as const }] };
  await server.store.machine.add(spell);
  const path = `/v1/organization/costs?start_time=${10 * DAY}&end_time=${11 * DAY}&group_by=service_tier&bucket_width=1h`;
  const [, bucket] = costsPage.parse((await get(path)).body).data;
  expect(bucket).toMatchObject({
    start_time: hour,
    nightshift: { machine: { up_seconds: 2, seconds: { online: 0.5, idle: 1.5 }, idle_share: 0.75, usd: null } },
    results: [
      { line_item: null, nightshift: { service_tier: "default", tokens: 110, machine: { seconds: 0.5 } } },
      { line_item: null, nightshift: { service_tier: "flex", tokens: 110, machine: { seconds: 0 } } },
    ],
  });
  for (const filter of ["project_ids=local", "api_key_ids=key_1"]) {
    const { data } = costsPage.parse((await get(`${path}&${filter}`)).body);
    expect(data.map(({ nightshift }) => nightshift.machine)).toEqual(Array(24).fill(null));
  }
});

test("a CSV page has a line per result and the next page in a header", async () => {
  const rows = [
    ledgerRow({ time: 10 * DAY + 5, keyId: "=1+1", model: 'a "quoted", name' }),
    ledgerRow({ time: 12 * DAY, costNano: 1_234_567_890 }),
  ];
  await server.store.ledger.insert({ rows });
  const path = `${server.url}/v1/organization/usage/completions?start_time=${10 * DAY}&end_time=${13 * DAY}&format=csv`;
  const query = `${path}&limit=2&group_by=model&group_by=api_key_id`;
  const first = await fetch(query);
  expect(first.headers.get("content-type")).toMatch(/^text\/csv/);
  const [head, line, end] = (await first.text()).split("\r\n");
  expect(head).toMatch(
    /^start_time,end_time,start,project_id,api_key_id,model,.*,cost_usd,default_cost_usd,estimated_requests,/,
  );
  expect(line).toMatch(/^864000,950400,1970-01-11T00:00:00\.000Z,,'=1\+1,"a ""quoted"", name",/);
  expect(end).toBe("");
  const second = await fetch(`${query}&page=${first.headers.get("x-nightshift-next-page")}`);
  expect(await second.text()).toContain(",100,40,10,0,1.234567890,");
  expect(second.headers.get("x-nightshift-next-page")).toBeNull();
  for (const kind of ["usage/embeddings", "costs"]) {
    const other = await fetch(`${server.url}/v1/organization/${kind}?start_time=${10 * DAY}&format=csv&limit=5`);
    expect(await other.text()).toMatch(/^start_time,end_time,start,project_id,api_key_id,/);
  }
});

test("reports are grouped by upstream and by fingerprint, without machine time", async () => {
  const versions = ["fp_9b0a151c453c", "fp_gpu_48a1948cf9fb", "fp_gpu_0123456789ab"];
  const rows = versions.map((version, at) => ledgerRow({ time: 10 * DAY, version, inputTokens: at }));
  const vectors = ledgerRow({ time: 10 * DAY, endpoint: "/v1/embeddings", version: versions[1]!, outputTokens: 0 });
  await server.store.ledger.insert({ rows: [...rows, vectors] });
  const report = async (kind: string, by: string) => {
    const path = `/v1/organization/${kind}?start_time=${10 * DAY}&end_time=${11 * DAY}&group_by=${by}`;
    const { data } = (await get(path)).body as { data: { results: { nightshift: Record<string, unknown> }[] }[] };
    return data[0]!.results.map(({ nightshift }) => nightshift);
  };
  expect(await report("usage/completions", "upstream")).toMatchObject([
    { upstream: null, system_fingerprint: null },
    { upstream: "gpu", system_fingerprint: null },
  ]);
  const prints = await report("usage/completions", "system_fingerprint");
  expect(prints.map(({ system_fingerprint: version }) => version).sort()).toEqual([...versions].sort());
  expect(await report("usage/embeddings", "upstream")).toMatchObject([{ upstream: "gpu" }]);
  expect(await report("costs", "upstream")).toMatchObject([
    { upstream: null, tokens: 10, machine: null },
    { upstream: "gpu", tokens: 11 + 12 + 100, machine: null },
  ]);
  const table = await fetch(
    `${server.url}/v1/organization/costs?start_time=${10 * DAY}&end_time=${11 * DAY}&group_by=upstream&format=csv`,
  );
  const [head, , line] = (await table.text()).split("\r\n");
  expect(head).toMatch(/,upstream,system_fingerprint$/);
  expect(line).toMatch(/,gpu,$/);
});

test("reports tell which requests, tokens and costs are estimates", async () => {
  const rows = [
    ledgerRow({ time: 10 * DAY }),
    ledgerRow({ time: 10 * DAY + 1, estimated: 1, inputTokens: 7, outputTokens: 3, costNano: 5 }),
    ledgerRow({
      time: 10 * DAY,
      endpoint: "/v1/embeddings",
      estimated: 1,
      inputTokens: 2,
      outputTokens: 0,
      costNano: 1,
    }),
  ];
  await server.store.ledger.insert({ rows });
  const query = `start_time=${10 * DAY}&end_time=${11 * DAY}`;
  const report = async (kind: string) => {
    const { data } = (await get(`/v1/organization/${kind}?${query}`)).body as { data: { results: unknown[] }[] };
    return data[0]!.results;
  };
  expect(await report("usage/completions")).toMatchObject([
    {
      num_model_requests: 2,
      nightshift: { estimated_requests: 1, estimated_input_tokens: 7, estimated_output_tokens: 3 },
    },
  ]);
  expect(await report("usage/embeddings")).toMatchObject([
    { nightshift: { estimated_requests: 1, estimated_input_tokens: 2 } },
  ]);
  expect(await report("costs")).toMatchObject([{ nightshift: { estimated_tokens: 12, estimated_cost_nano_usd: 6 } }]);
  const table = async (kind: string) => {
    const answer = await fetch(`${server.url}/v1/organization/${kind}?${query}&format=csv`);
    return (await answer.text()).split("\r\n");
  };
  const [usageHead, usageLine] = await table("usage/completions");
  expect(usageHead).toMatch(/,estimated_requests,estimated_input_tokens,estimated_output_tokens,/);
  expect(usageLine).toMatch(/,1,7,3,,$/);
  const [costsHead, costsLine] = await table("costs");
  expect(costsHead).toMatch(/,estimated_tokens,estimated_cost_usd,/);
  expect(costsLine).toMatch(/,12,0\.000000006,,$/);
});

test.each([
  ["", "start_time"],
  ["start_time=x", "start_time"],
  ["start_time=5&end_time=5", "end_time"],
  ["start_time=5&limit=32", "limit"],
  ["start_time=5&limit=0", "limit"],
  ["start_time=5&bucket_width=2d", "bucket_width"],
  ["start_time=5&group_by=nothing", "group_by[0]"],
  ["start_time=5&format=xml", "format"],
  ["start_time=5&page=page_7", "page"],
  ["start_time=5&page=%27;DROP TABLE ledger", "page"],
])("a query of %o is a 400 that names %s", async (query, param) => {
  const { status, body } = await get(`/v1/organization/usage/completions?${query}`);
  expect(status).toBe(400);
  expect(body).toMatchObject({ error: { param } });
});

test("without its store the server answers reports with 503 and still serves chat", async () => {
  await server.store.close();
  const { status, body } = await get("/v1/organization/costs?start_time=1699999000");
  expect(status).toBe(503);
  expect(body).toMatchObject({ error: { code: "store_unavailable" } });
  server.engine.script = saying("still here");
  expect((await server.post("/v1/chat/completions", CHAT)).status).toBe(200);
});

test("a page with too many results is refused with advice", async () => {
  const rows = Array.from({ length: 20_001 }, (_, index) => ledgerRow({ time: 10 * DAY, keyId: `key_${index}` }));
  await server.store.ledger.insert({ rows });
  const range = `start_time=${10 * DAY}&end_time=${11 * DAY}`;
  const refused = await get(`/v1/organization/usage/completions?${range}&group_by=api_key_id`);
  expect(refused).toMatchObject({ status: 400, body: { error: { code: "too_many_results", param: "limit" } } });
  const { status, body } = await get(`/v1/organization/usage/completions?${range}`);
  expect(status).toBe(200);
  expect(usagePage.parse(body).data[0]?.results[0]?.num_model_requests).toBe(20_001);
});
