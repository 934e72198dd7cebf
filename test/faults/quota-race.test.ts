import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, it, onTestFinished } from "vitest";
import { owner as ownerSchema } from "../../openapi/resources/owners.ts";
import { saying } from "../unit/server/fake-engine.ts";
import { ADMIN_KEY, type KeyedServer, startKeyedServer } from "./keys-rig.ts";

/** Cost of the fake engine's answer in nano-dollars: 3 prompt tokens, 2 of them cached, and 1 of the answer. */
const COST = 3 * 1000 + 2 * 500 + 2000;
const CHAT = { model: "demo", messages: [{ role: "user", content: "hi" }], max_tokens: 8 };

async function statuses(server: KeyedServer, secrets: readonly string[], count: number): Promise<number[]> {
  const calls = Array.from({ length: count }, async (_, i) => {
    const response = await server.call(secrets[i % secrets.length]!, "POST", "/v1/chat/completions", CHAT);
    const body: unknown = await response.json();
    if (response.status === 429) expect(body).toMatchObject({ error: { code: "insufficient_quota" } });
    return response.status;
  });
  return Promise.all(calls);
}

async function spending(server: KeyedServer) {
  const response = await server.call(ADMIN_KEY, "GET", "/v1/nightshift/owners/a");
  return ownerSchema.parse(await response.json()).spending;
}

/** The sum of the ledger's rows. */
function ledgerOf(dataDir: string): { rows: number; nano: number } {
  const db = new Database(join(dataDir, "nightshift.db"), { readonly: true });
  onTestFinished(() => void db.close());
  const sum = db.prepare<[], { rows: number; nano: number }>(
    "SELECT count(*) AS rows, coalesce(sum(cost_nano), 0) AS nano FROM ledger",
  );
  return sum.get()!;
}

it.each([
  ["a key's daily budget", (server: KeyedServer, usd: number) => [server.key({ budget: { daily_usd: usd } })]],
  [
    "an owner's monthly budget, over four keys",
    (server: KeyedServer, usd: number) => {
      const set = { budget: { monthly_usd: usd } };
      const bound = server.call(ADMIN_KEY, "PATCH", "/v1/nightshift/owners/a", set);
      return Array.from({ length: 4 }, () => bound.then(() => server.key()));
    },
  ],
])("100 concurrent requests at the last cent of %s overspend by one request", async (_name, make) => {
  const server = await startKeyedServer();
  // The budget pays for two requests and a nano-dollar.
  const keys = await Promise.all(make(server, (2 * COST + 1) / 1e9));
  const secrets = keys.map(({ key }) => key);
  for (let i = 0; i < 2; i++) {
    expect(await statuses(server, secrets, 1)).toEqual([200]);
    await server.ledger.flush();
  }
  const answers = await statuses(server, secrets, 100);
  expect(answers.filter((status) => status === 200)).toHaveLength(1);
  expect(answers.filter((status) => status === 429)).toHaveLength(99);
  await server.ledger.flush();
  expect(ledgerOf(server.dataDir)).toEqual({ rows: 3, nano: 3 * COST });
  expect(await spending(server)).toMatchObject({ day_usd: (3 * COST) / 1e9, held_usd: 0 });
  expect(await statuses(server, secrets, 3)).toEqual([429, 429, 429]);
});

it("100 failed or abandoned requests leave no reservation and cost nothing", async () => {
  const server = await startKeyedServer();
  const { key } = await server.key({ budget: { daily_usd: 1 } });
  const leaving = new AbortController();
  let submitted = 0;
  server.engine.script = (request) => {
    submitted++;
    if (submitted % 2 === 0) request.begin();
    if (submitted === 100) leaving.abort();
  };
  const calls = Array.from({ length: 100 }, () =>
    fetch(`${server.url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify(CHAT),
      signal: leaving.signal,
    }).catch(() => null),
  );
  expect((await Promise.all(calls)).every((response) => response === null)).toBe(true);
  await expect.poll(async () => (await spending(server)).held_usd).toBe(0);
  await server.ledger.flush();
  expect(ledgerOf(server.dataDir)).toEqual({ rows: 0, nano: 0 });
  server.engine.script = saying("ok");
  expect(await statuses(server, [key], 1)).toEqual([200]);
});
