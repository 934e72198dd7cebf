import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { toFile } from "openai";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { complete } from "../api/ask.ts";
import { TestServer } from "../api/server.ts";
import { until } from "../api/until.ts";

const ADMIN_KEY = "administrator-marker-of-this-test";
const WRONG_KEY = "wrong-key-marker-of-this-test";
const PROMPT = "prompt-marker-of-this-test";

/** A folder that outlives the server. */
let dataDir: string;
let server: TestServer;
let key: string;
beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), "nightshift-keys-"));
  server = new TestServer(["--log-level", "trace", "--data-dir", dataDir], { NIGHTSHIFT_ADMIN_KEY: ADMIN_KEY });
  await server.says("Ready");
  const made = await post("/v1/nightshift/keys", { name: "n", owner: "a" }, ADMIN_KEY);
  ({ key } = z.object({ key: z.string() }).parse(await made.json()));
});
afterAll(async () => {
  await server.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

/** The part after the key's prefix: 256 bits in base64url, which may contain underscores. */
const secretPart = (key: string) => key.slice(-43);

const post = (path: string, body: unknown, secret: string) =>
  server.post(path, body, { authorization: `Bearer ${secret}` });

test("the engine process has no key in its environment", () => {
  expect(server.enginePids.length).toBeGreaterThan(0);
  for (const pid of server.enginePids) {
    expect(readFileSync(`/proc/${pid}/environ`, "utf8")).not.toContain(ADMIN_KEY);
  }
});

test("no key, prompt or body is in a log line, an error or the metrics", async () => {
  const answers: string[] = [];
  const note = async (response: Response) => void answers.push(await response.text());
  const message = { role: "user", content: PROMPT };
  const refused: [string, unknown, string][] = [
    ["/v1/chat/completions", { model: "demo", messages: [message], temperature: 9 }, key],
    ["/v1/chat/completions", { model: "demo", messages: [{ ...message, role: PROMPT.repeat(9) }] }, key],
    ["/v1/chat/completions", `{"model": "demo", "messages": "${PROMPT}"`, key],
    ["/v1/chat/completions", { model: "demo", messages: [{ role: "user", content: PROMPT.repeat(2000) }] }, key],
    ["/v1/completions", { model: "demo", prompt: [{ [PROMPT]: PROMPT }] }, key],
    ["/v1/tokenize", { model: "demo", prompt: 5, content: { [PROMPT]: 1 } }, key],
    ["/v1/chat/completions", { model: "demo", messages: [message] }, WRONG_KEY],
    ["/v1/batches", { input_file_id: "file-x" }, key],
    ["/v1/nightshift/keys", { name: PROMPT.repeat(20), owner: "a" }, ADMIN_KEY],
  ];
  for (const [path, body, secret] of refused) await note(await post(path, body, secret));
  const client = server.client.withOptions({ apiKey: key });
  await complete(client, PROMPT, { max_tokens: 4 });
  const line = {
    custom_id: "1",
    method: "POST",
    url: "/v1/chat/completions",
    body: { model: "demo", messages: [message], max_tokens: 2 },
  };
  const file = await toFile(Buffer.from(`${JSON.stringify(line)}\n`), "in.jsonl");
  const { id } = await client.files.create({ file, purpose: "batch" });
  const made = { input_file_id: id, endpoint: "/v1/chat/completions", completion_window: "24h" } as const;
  const batch = await client.batches.create(made);
  await until("the batch to end", async () => (await client.batches.retrieve(batch.id)).status === "completed");
  answers.push(await (await fetch(`${server.origin}/metrics`)).text());
  server.kill("SIGTERM");
  await server.exited;

  expect(server.logged("request refused").length).toBeGreaterThan(5);
  const secrets = [ADMIN_KEY, WRONG_KEY, PROMPT, key, secretPart(key)];
  for (const text of [server.output, ...answers]) for (const secret of secrets) expect(text).not.toContain(secret);
});

test("no file of the data directory has a key", async () => {
  await server.exited;
  const names = readdirSync(dataDir, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  expect(names.map(({ name }) => name)).toContain("nightshift.db");
  for (const { parentPath, name } of names) {
    const bytes = readFileSync(join(parentPath, name));
    for (const secret of [ADMIN_KEY, key, secretPart(key)]) expect(bytes.includes(secret), name).toBe(false);
  }
});
