import { rmSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, onTestFinished, test } from "vitest";
import { StoreError, type StoreErrorCode } from "../../store/types/store-error.ts";
import { failure } from "../api/failure.ts";
import { startServer } from "../api/server.ts";
import { until } from "../api/until.ts";
import { saying } from "../unit/server/fake-engine.ts";
import { CHAT, startTestServer, type TestServer } from "../unit/server/test-server.ts";
import { startKeyedServer } from "./keys-rig.ts";
import { fillDisk, mountSmallDisk } from "./small-disk.ts";

const ASK = { model: "demo", input: "hi" };
const STORED_CHAT = { ...CHAT, store: true };

async function serve(options: Parameters<typeof startTestServer>[0] = {}): Promise<TestServer> {
  const server = await startTestServer(options);
  onTestFinished(() => server.close());
  return server;
}

function rows({ dataDir }: TestServer): Record<string, number> {
  const db = new Database(join(dataDir, "nightshift.db"), { readonly: true });
  const tables = ["responses", "response_items", "completions", "conversation_items", "ledger"];
  const counts = tables.map((table) => [table, Number(db.prepare(`SELECT count(*) FROM ${table}`).pluck().get())]);
  db.close();
  return Object.fromEntries(counts);
}

const NOTHING = { responses: 0, response_items: 0, completions: 0, conversation_items: 0, ledger: 0 };

test.each([
  ["/v1/responses", ASK],
  ["/v1/responses", { ...ASK, stream: true }],
  ["/v1/chat/completions", STORED_CHAT],
  ["/v1/chat/completions", { ...STORED_CHAT, stream: true }],
])("five requests for the last place of --max-stored generate one answer: %s %j", async (path, body) => {
  const server = await serve({ maxStored: 1 });
  const running = Array.from({ length: 5 }, () => server.post(path, body));
  const refused = [];
  for (let done = 0; done < 4; done++) {
    const index = await Promise.race(running.map((answer, i) => answer.then(() => i)));
    refused.push(...running.splice(index, 1));
  }
  for (const answer of await Promise.all(refused)) {
    expect(answer.status).toBe(507);
    expect(await answer.json()).toMatchObject({
      error: { code: "insufficient_storage", message: expect.stringContaining("limit of 1 stored answers") },
    });
  }
  expect(server.engine.requests).toHaveLength(1);
  saying("ok")(server.engine.requests[0]!);
  const [answer] = await Promise.all(running);
  expect([answer!.status, await answer!.text()]).toEqual([200, expect.stringContaining("ok")]);
  expect((await server.post(path, body)).status).toBe(507);
  expect(server.engine.requests).toHaveLength(1);
});

test("a place is given back by requests that fail, are cancelled or are not stored", async () => {
  const server = await serve({ maxStored: 1 });
  const leaving = new AbortController();
  const left = server.post("/v1/responses", ASK, { signal: leaving.signal }).catch(() => "left");
  await until("the request to run", () => server.engine.requests.length === 1);
  expect((await server.post("/v1/responses", ASK)).status).toBe(507);
  server.engine.script = saying("ok");
  expect((await server.post("/v1/responses", { ...ASK, store: false })).status).toBe(200);
  leaving.abort();
  expect(await left).toBe("left");
  await until("the place to be free", async () => (await server.post("/v1/responses", ASK)).status === 200);
  expect(rows(server)).toMatchObject({ responses: 1 });
});

test("a key whose storage is used up is refused before the generation", async () => {
  const server = await startKeyedServer();
  const { key } = await server.key({ storage_bytes: 2500 });
  const statuses: number[] = [];
  for (let sent = 0; sent < 3; sent++) {
    statuses.push((await server.call(key, "POST", "/v1/chat/completions", STORED_CHAT)).status);
  }
  expect([statuses, server.engine.requests.length]).toEqual([[200, 507, 507], 1]);
});

const FAILURES: [StoreErrorCode, number, string][] = [
  ["full", 507, "insufficient_storage"],
  ["busy", 503, "store_busy"],
  ["io", 503, "store_unavailable"],
  ["closed", 503, "store_unavailable"],
];

test.each(FAILURES)(
  "an answer that the store does not take (%s) ends with an error, uncharged",
  async (code, status, error) => {
    const server = await serve();
    server.engine.script = saying("one", "two");
    const { responses, completions } = server.store;
    const working = { keep: responses.keep, insert: completions.insert };
    const failing = () => Promise.reject(new StoreError(code, "the disk is gone: /var/lib/secret"));
    responses.keep = failing;
    completions.insert = failing;
    for (const [path, body] of [["/v1/responses", ASK] as const, ["/v1/chat/completions", STORED_CHAT] as const]) {
      const whole = await server.post(path, body);
      const text = await whole.text();
      expect([whole.status, text]).toEqual([status, expect.stringContaining(`"code":"${error}"`)]);
      const streamed = await (await server.post(path, { ...body, stream: true })).text();
      expect(streamed).toContain("two");
      expect(streamed).toContain(`"code":"${error}"`);
      expect(streamed).not.toMatch(/response\.completed|\[DONE\]/);
      expect(text + streamed).not.toContain("/var/lib");
    }
    await server.ledger.flush();
    expect(rows(server)).toEqual(NOTHING);
    Object.assign(responses, { keep: working.keep });
    Object.assign(completions, { insert: working.insert });
    expect((await server.post("/v1/responses", ASK)).status).toBe(200);
    await server.ledger.flush();
    expect(rows(server)).toMatchObject({ responses: 1, ledger: 1 });
  },
);

test.each<StoreErrorCode>(["full", "io", "busy"])(
  "stored context that the store does not read (%s) is an error",
  async (code) => {
    const server = await serve();
    server.store.responses.get = () => Promise.reject(new StoreError(code, "the disk is gone"));
    const refused = await server.post("/v1/responses", { ...ASK, previous_response_id: "resp_x" });
    expect(refused.status).toBe(code === "full" ? 507 : 503);
  },
);

test("a response whose last item is not stored leaves no row, and its conversation unlocked and unchanged", async () => {
  const server = await serve();
  server.engine.script = saying("ok");
  const made = await server.post("/v1/conversations", {});
  const { id: conversation }: { id: string } = JSON.parse(await made.text());
  const db = new Database(join(server.dataDir, "nightshift.db"));
  onTestFinished(() => void db.close());
  const last = "new.output = 1 BEGIN SELECT RAISE(ABORT, 'the last item')";
  db.exec(`CREATE TRIGGER fault BEFORE INSERT ON response_items WHEN ${last}; END`);
  for (const stream of [false, true]) {
    const text = await (await server.post("/v1/responses", { ...ASK, conversation, stream })).text();
    expect(text).toContain("The server could not store the answer.");
    expect(text).not.toContain("the last item");
  }
  await server.ledger.flush();
  expect(rows(server)).toEqual(NOTHING);
  db.exec("DROP TRIGGER fault");
  expect((await server.post("/v1/responses", { ...ASK, conversation })).status).toBe(200);
  expect(rows(server)).toMatchObject({ responses: 1, response_items: 2, conversation_items: 2 });
});

test("on a full disk whole and streamed answers end with an error, and are stored with free space", async ({
  skip,
}) => {
  const disk = mountSmallDisk(32 * 1024 * 1024);
  if (disk === null) return skip("mounting a small file system needs root");
  onTestFinished(() => disk.unmount());
  const server = await startServer("--data-dir", disk.path, "--disk-reserve", "0");
  onTestFinished(() => server.stop());
  const { responses } = server.client;
  // Too much for the pages that the log has on the disk already; the prompt is the last message alone.
  const notes = { role: "user" as const, content: "note ".repeat(600_000) };
  const input = [notes, { role: "user" as const, content: "What is 7 + 8?" }];
  const ask = { model: "demo", truncation: "auto" as const, input };
  const ballast = fillDisk(disk.path);
  const full = { status: 507, code: "insufficient_storage" };
  expect(await failure(responses.create(ask))).toMatchObject(full);
  const types: string[] = [];
  const read = async () => {
    for await (const event of await responses.create({ ...ask, stream: true })) types.push(event.type);
  };
  expect(await failure(read())).toMatchObject({ code: "insufficient_storage" });
  expect(types).toContain("response.output_text.delta");
  expect(types).not.toContain("response.completed");
  rmSync(ballast);
  await until("the store to be writable", async () => (await server.ready()).status === 200);
  const { id } = await responses.create(ask);
  const next = await responses.create({
    model: "demo",
    input: "And 1 + 1?",
    truncation: "auto",
    previous_response_id: id,
  });
  expect(await responses.retrieve(next.id)).toMatchObject({ previous_response_id: id, status: "completed" });
  const db = new Database(join(disk.path, "nightshift.db"), { readonly: true });
  onTestFinished(() => void db.close());
  expect(db.prepare("SELECT count(*) FROM responses").pluck().get()).toBe(2);
});
