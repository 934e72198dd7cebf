import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { TestServer } from "../api/server.ts";
import { until } from "../api/until.ts";
import { exchange } from "../unit/server/http/raw-socket.ts";

const ADMIN_KEY = "administrator of this test";
const EVIL = 'x\r\n{"level":30,"msg":"forged"}\r\nSet-Cookie: a=b\u001b[31m\u2028\u0007';

/** The worst name that a file may have. */
const UGLY = 'x";\u2028Set-Cookie: a=b\u202e%0d%0a';

let server: TestServer;
beforeAll(async () => {
  server = new TestServer(["--log-level", "trace"], { NIGHTSHIFT_ADMIN_KEY: ADMIN_KEY });
  await server.says("Ready");
});
afterAll(() => server.stop());

test("line ends and escapes in client texts reach neither log nor header", async () => {
  const client = server.client.withOptions({ apiKey: ADMIN_KEY });
  const body = { model: "demo", messages: [{ role: "user", content: "Hi" }], max_tokens: 1 };
  const line = JSON.stringify({ custom_id: EVIL, method: "POST", url: "/v1/chat/completions", body });
  const upload = (name: string) => {
    const form = [
      '--B\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch',
      `--B\r\nContent-Disposition: form-data; name="file"; filename*=UTF-8''${encodeURIComponent(name)}.jsonl\r\n\r\n${line}\n`,
      "--B--\r\n",
    ].join("\r\n");
    const headers = { authorization: `Bearer ${ADMIN_KEY}`, "content-type": "multipart/form-data; boundary=B" };
    return server.post("/v1/files", form, headers);
  };
  expect((await upload(EVIL)).status).toBe(400);
  const uploaded = await upload(UGLY);
  const { id, filename } = z.object({ id: z.string(), filename: z.string() }).parse(await uploaded.json());
  const content = await client.files.content(id);
  expect(content.headers.get("set-cookie")).toBeNull();
  expect(content.headers.get("content-disposition")).toMatch(
    /^attachment; filename="(?:[^"\\]|\\.)*"; filename\*=UTF-8''[\w%.!#$&+^`|~-]+$/,
  );
  expect(filename).toBe(`${UGLY}.jsonl`);

  const batch = await client.batches.create({
    input_file_id: id,
    endpoint: "/v1/chat/completions",
    completion_window: "24h",
    metadata: { [EVIL]: EVIL },
  });
  await until("the batch to end", async () => (await client.batches.retrieve(batch.id)).status === "completed");
  const { output_file_id, metadata } = await client.batches.retrieve(batch.id);
  expect(metadata).toEqual({ [EVIL]: EVIL });
  const output = await (await client.files.content(output_file_id ?? "")).text();
  expect(
    output
      .trim()
      .split("\n")
      .map((text) => JSON.parse(text).custom_id),
  ).toEqual([EVIL]);

  const named = { name: EVIL, owner: "a" };
  expect((await server.post("/v1/nightshift/keys", named, { authorization: `Bearer ${ADMIN_KEY}` })).status).toBe(400);
  for (const id of ["\u001b[31mred", "a b", "x".repeat(200), 'a"b']) {
    const head = ["GET /v1/none HTTP/1.1", "Host: localhost", `X-Request-Id: ${id}`, "Connection: close", "", ""];
    const answer = await exchange(Number(new URL(server.origin).port), head.join("\r\n"));
    expect(answer).toMatch(/^(HTTP\/1\.1 400|[\s\S]*\r\nx-request-id: req_\w+\r\n)/);
  }
  await server.post(`/v1/files/${encodeURIComponent(EVIL)}`, {}, { authorization: `Bearer ${ADMIN_KEY}` });

  server.kill("SIGTERM");
  await server.exited;
  const log = server.output.split("\n").filter((text) => text.startsWith("{"));
  expect(log.length).toBeGreaterThan(10);
  for (const text of log) expect(text).not.toMatch(/[\p{Cc}]/u);
  expect(server.logged("forged")).toEqual([]);
  expect(server.output).not.toContain("\u001b");
});
