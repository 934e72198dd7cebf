import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { usagePage } from "../../../../openapi/resources/organization-usage.ts";
import { ownersCommand } from "../../../../server/cli/owners-command.ts";
import { until } from "../../../api/until.ts";
import { ledgerRow } from "../../store/rows.ts";
import { startTestServer, type TestServer } from "../test-server.ts";

const ADMIN_KEY = "the administrator's own key";
const UPLOAD = { filename: "a.txt", purpose: "user_data", bytes: 1, mime_type: "text/plain" };
const BATCH = { input_file_id: "file-x", endpoint: "/v1/chat/completions", completion_window: "24h" };
let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ apiKeys: "on", adminKey: ADMIN_KEY });
});
afterAll(() => server.close());

async function call(method: string, path: string, key: string, body?: object) {
  const headers = { authorization: `Bearer ${key}`, ...(body && { "content-type": "application/json" }) };
  const init = { method, headers, ...(body && { body: JSON.stringify(body) }) };
  const response = await fetch(`${server.url}/v1/${path}`, init);
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

async function keyOf(owner: string, more: object = {}): Promise<string> {
  const { body } = await call("POST", "nightshift/keys", ADMIN_KEY, { name: "k", owner, ...more });
  return String(body.key);
}

async function upload(key: string): Promise<number> {
  const form = new FormData();
  form.set("purpose", "user_data");
  form.set("file", new Blob(["text of somebody"]), "somebody.txt");
  const headers = { authorization: `Bearer ${key}` };
  return (await fetch(`${server.url}/v1/files`, { method: "POST", headers, body: form })).status;
}

async function erase(...args: string[]): Promise<string> {
  let out = "";
  const stdout = {
    write: (text: string) => {
      out += text;
    },
  };
  const env = { NIGHTSHIFT_URL: server.url, NIGHTSHIFT_ADMIN_KEY: ADMIN_KEY };
  await ownersCommand(["erase", ...args], { env, stdout, stderr: { write: () => {} } });
  return out;
}

test("erasing an owner revokes its keys and removes its files", async () => {
  const key = await keyOf("team-a");
  expect(await upload(key)).toBe(200);
  await call("PATCH", "nightshift/owners/team-a", ADMIN_KEY, { budget: { daily_usd: 5 } });
  const asked = await call("DELETE", "nightshift/owners/team-a", ADMIN_KEY);
  expect(asked).toMatchObject({ status: 200, body: { id: "team-a", object: "nightshift.owner" } });
  expect((await call("GET", "files", key)).status).toBe(401);
  await expect
    .poll(async () => (await call("GET", "nightshift/owners/team-a", ADMIN_KEY)).body)
    .toMatchObject({ erasure: null, budget: { daily_usd: null } });
  expect(await call("GET", "nightshift/keys?owner=team-a", ADMIN_KEY)).toMatchObject({ body: { data: [] } });
  expect(await call("GET", "files", await keyOf("team-a"))).toMatchObject({ status: 200, body: { data: [] } });
});

/** Erases an owner while an operation of the store is about to run, and lets it run once that is over. */
function erasedBefore<Args, Result>(owner: string, operation: (args: Args) => Promise<Result>) {
  return async (args: Args): Promise<Result> => {
    await call("DELETE", `nightshift/owners/${owner}`, ADMIN_KEY);
    await until(`${owner} to be erased`, async () => {
      const { body } = await call("GET", `nightshift/owners/${owner}`, ADMIN_KEY);
      return body.erasure === null;
    });
    return operation(args);
  };
}

test("a request that began before the erasure adds nothing after it", async () => {
  const { files, uploads, batches } = server.store;
  const { insert } = files;
  const { insert: insertUpload } = uploads;
  const { create } = batches;
  const requests: [string, (key: string) => Promise<number>][] = [
    ["team-e", upload],
    ["team-f", async (key) => (await call("POST", "uploads", key, UPLOAD)).status],
    ["team-g", async (key) => (await call("POST", "batches", key, BATCH)).status],
  ];
  files.insert = erasedBefore("team-e", insert);
  uploads.insert = erasedBefore("team-f", insertUpload);
  batches.create = erasedBefore("team-g", create);
  onTestFinished(() => {
    Object.assign(files, { insert });
    Object.assign(uploads, { insert: insertUpload });
    Object.assign(batches, { create });
  });
  for (const [owner, request] of requests) {
    expect([owner, await request(await keyOf(owner))]).toEqual([owner, 401]);
    expect((await call("GET", "files", await keyOf(owner))).body).toMatchObject({ data: [] });
    expect((await call("GET", "batches", await keyOf(owner))).body).toMatchObject({ data: [] });
  }
});

test("an erased owner's sums of the current hour stay in reports", async () => {
  await server.store.ledger.insert({ rows: [ledgerRow({ owner: "team-d", time: 1_700_000_000 })] });
  await call("DELETE", "nightshift/owners/team-d", ADMIN_KEY);
  await expect
    .poll(async () => (await call("GET", "nightshift/owners/team-d", ADMIN_KEY)).body)
    .toMatchObject({ erasure: null });
  for (const width of ["1h", "1d"]) {
    const query = `start_time=1699999000&bucket_width=${width}&group_by=project_id`;
    const { body } = await call("GET", `organization/usage/completions?${query}`, ADMIN_KEY);
    const results = usagePage.parse(body).data.flatMap((bucket) => bucket.results);
    expect(results).toMatchObject([{ project_id: "team-d", input_tokens: 100 }]);
  }
});

test("the command needs --yes and waits for the end of the erasure", async () => {
  await keyOf("team-b");
  await expect(erase("team-b")).rejects.toThrow(/--yes/);
  expect(await erase("team-b", "--yes")).toBe("team-b erased\n");
});

test("only an administrator may erase an owner, but not the one of its own key", async () => {
  const key = await keyOf("team-c");
  expect(await call("DELETE", "nightshift/owners/team-c", key)).toMatchObject({ status: 403 });
  const admin = await keyOf("admins", { scopes: ["admin"] });
  expect(await call("DELETE", "nightshift/owners/admins", admin)).toMatchObject({
    status: 409,
    body: { error: { code: "own_owner" } },
  });
  expect(await call("DELETE", "nightshift/owners/-", ADMIN_KEY)).toMatchObject({ status: 404 });
});
