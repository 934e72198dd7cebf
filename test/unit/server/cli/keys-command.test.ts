import { afterAll, beforeAll, expect, test } from "vitest";
import { keysCommand } from "../../../../server/cli/keys-command.ts";
import { startTestServer, type TestServer } from "../test-server.ts";

const ADMIN_KEY = "the administrator's own key";
/** The test server's own time. */
const NOW = 1_700_000_001;
let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ apiKeys: "on", adminKey: ADMIN_KEY });
});
afterAll(() => server.close());

async function keys(...args: string[]): Promise<{ out: string; err: string }> {
  const written = { out: "", err: "" };
  const write = (stream: "out" | "err") => (text: string) => {
    written[stream] += text;
  };
  await keysCommand(args, {
    env: { NIGHTSHIFT_URL: server.url, NIGHTSHIFT_ADMIN_KEY: ADMIN_KEY, OPENAI_API_KEY: "another" },
    stdout: { write: write("out") },
    stderr: { write: write("err") },
    now: () => NOW * 1000,
  });
  return written;
}

const models = (key: string) =>
  fetch(`${server.url}/v1/models`, { headers: { authorization: `Bearer ${key.trim()}` } });

test("a missing key is an error that names the variable to set", async () => {
  const env = { NIGHTSHIFT_URL: server.url };
  const silent = { write: () => true };
  const listing = keysCommand(["list"], { env, stdout: silent, stderr: silent, now: () => NOW * 1000 });
  await expect(listing).rejects.toMatchObject({
    status: 401,
    message: expect.stringMatching(/set NIGHTSHIFT_API_KEY/),
  });
});

test("creates, lists, limits, rotates and revokes a key", async () => {
  const made = await keys("create", "--name", "search", "--owner", "team-a", "--model", "demo", "--daily-usd", "2.5");
  expect(made.out).toMatch(/^ns_\S+\n$/);
  const id = /key_\w+/.exec(made.err)?.[0] ?? "";
  expect((await models(made.out)).status).toBe(200);

  const listed = await keys("list", "--owner", "team-a");
  expect(listed.out).toMatch(/^id +name +owner +begins with +scopes +state +last used$/m);
  expect(listed.out).toMatch(
    new RegExp(`^${id} +search +team-a +ns_\\w+ +inference,batches,usage +valid +2023-11-14 22:13$`, "m"),
  );
  expect(listed.out).not.toContain(made.out.trim());

  const limits = await keys("limits", id, "--concurrent", "4", "--daily-usd", "none", "--model", "all");
  expect(limits.out).toMatch(/^models +all$/m);
  expect(limits.out).toMatch(/^concurrent +4$/m);
  expect(limits.out).toMatch(/^USD per day +none$/m);
  expect((await keys("limits", id)).out).toBe(limits.out);

  const rotated = await keys("rotate", id, "--grace", "1h");
  expect([(await models(rotated.out)).status, (await models(made.out)).status]).toEqual([200, 200]);
  expect((await keys("revoke", id)).out).toBe(`${id} revoked\n`);
  expect([(await models(rotated.out)).status, (await models(made.out)).status]).toEqual([401, 401]);
  expect((await keys("list")).out).toMatch(new RegExp(`^${id} .* revoked +2023-11-14 22:13$`, "m"));
  await expect(keys("rotate", id)).rejects.toMatchObject({ status: 409, code: "key_revoked" });
});

test("sets scopes, tiers and expiry, and prints JSON", async () => {
  const flags = ["--scope", "usage", "--scope", "inference", "--tier", "flex", "--expires-in", "30d", "--json"];
  const made = JSON.parse((await keys("create", "--name", "n", "--owner", "o", ...flags)).out);
  expect(made).toMatchObject({ scopes: ["usage", "inference"], tiers: ["flex"], expires_at: NOW + 30 * 86_400 });
  expect((await keys("list", "--owner", "o")).out).toMatch(/ until 2023-12-14 22:13 +never$/m);
});

test.each([
  [["create", "--name", "n", "--owner", "not an owner"], /^Invalid 'owner'/],
  [
    ["create", "--name", "n", "--owner", "o", "--concurrent", "many"],
    /^--concurrent must be a number or none; it is "many"/,
  ],
  [["create", "--name", "n", "--owner", "o", "--scope", "root"], /^Invalid 'scopes\[0\]'/],
  [["create", "--name", "n", "--owner", "o", "--expires-in", "soon"], /^--expires-in must be a duration/],
  [["revoke", "key_none"], /^No key found with id 'key_none'/],
])("%j is refused and says why", async (args, message) => {
  await expect(keys(...args)).rejects.toThrow(message);
});

test("prints small budgets with all digits, and shares without needless ones", async () => {
  const made = await keys("create", "--name", "n", "--owner", "small", "--daily-usd", "0.0001", "--soft-ratio", "0.29");
  const limits = await keys("limits", /key_\w+/.exec(made.err)?.[0] ?? "");
  expect(limits.out).toMatch(/^USD per day +0\.0001$/m);
  expect(limits.out).toMatch(/^warned from +29 %$/m);
});
