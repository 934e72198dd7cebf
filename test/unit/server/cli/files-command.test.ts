import { createHash, randomBytes } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { Writable } from "node:stream";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { ApiClient } from "../../../../server/cli/client/api-client.ts";
import { filesCommand } from "../../../../server/cli/files-command.ts";
import { freshFolder } from "../../store/test-store.ts";
import { startTestServer, type TestServer } from "../test-server.ts";

let server: TestServer;
let limits: { form: number; part: number } | undefined;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());

async function files(...args: string[]): Promise<{ out: Buffer; err: string }> {
  const chunks: Buffer[] = [];
  const stdout = new Writable({
    write(chunk: Buffer, _, done) {
      chunks.push(chunk);
      done();
    },
  });
  let err = "";
  const stderr = { isTTY: true, columns: 80, write: (text: string) => (err += text) };
  await filesCommand(args, { env: { NIGHTSHIFT_URL: server.url }, stdout, stderr, limits });
  return { out: Buffer.concat(chunks), err };
}

function localFile(name: string, content: string | Uint8Array): string {
  const path = join(freshFolder(), name);
  writeFileSync(path, content);
  return path;
}

test("uploads, lists, gets and deletes a file", async () => {
  const bytes = randomBytes(2_000_000);
  const path = localFile("blob.bin", bytes);
  const uploaded = await files("upload", path);
  const id = uploaded.out.toString().trim();
  expect(id).toMatch(/^file-/);
  expect(uploaded.err).toContain("100 %, 2.0 MB of 2.0 MB");
  expect((await files("list")).out.toString()).toMatch(
    new RegExp(`^${id} +user_data +2000000 .* never +blob.bin$`, "m"),
  );

  expect(sha256((await files("get", id)).out)).toBe(sha256(bytes));
  const target = join(freshFolder(), "copy");
  await files("get", id, "-o", target);
  expect(sha256(readFileSync(target))).toBe(sha256(bytes));

  expect((await files("delete", id)).out.toString()).toBe(`${id} deleted\n`);
  await expect(files("get", id)).rejects.toMatchObject({ status: 404, message: `No such File object: ${id}` });
  await expect(files("delete", id)).rejects.toMatchObject({ status: 404 });
});

test("uploads .jsonl with purpose batch by default, with the given expiry", async () => {
  const path = localFile('a "b"; c.jsonl', "{}\n");
  const batch = JSON.parse((await files("upload", path, "--json", "--expires-after", "7200")).out.toString());
  expect(batch).toMatchObject({ purpose: "batch", filename: 'a "b"; c.jsonl', expires_at: batch.created_at + 7200 });
  const evals = JSON.parse((await files("upload", path, "--json", "--purpose", "evals")).out.toString());
  expect(evals).toMatchObject({ purpose: "evals", expires_at: null });
  const listed = JSON.parse((await files("list", "--json", "--purpose", "evals")).out.toString());
  expect(listed).toEqual([evals]);
});

test("prints how to continue a list", async () => {
  for (const name of ["1.txt", "2.txt"]) await files("upload", localFile(name, name));
  const { out, err } = await files("list", "--limit", "1");
  expect(out.toString().trim().split("\n")).toHaveLength(2);
  const [, after] = /--after (file-\w+)/.exec(err)!;
  expect((await files("list", "--limit", "1", "--after", after!)).out.toString()).toContain("1.txt");
});

test("replaces terminal control characters in file names", async () => {
  const name = "\x1b[31mred\x07.txt";
  await expect(files("upload", localFile(name, "x"))).rejects.toMatchObject({ status: 400 });
  // One of another server, or of a time when it was taken.
  const one = { id: "file-1", object: "file", bytes: 1, created_at: 1, expires_at: null, purpose: "user_data" };
  const listed = { ...one, filename: name, status: "processed", status_details: null };
  const page = { object: "list", data: [listed], first_id: "file-1", last_id: "file-1", has_more: false };
  const url = await serve((res) => res.end(JSON.stringify(page)));
  expect((await files("list", "--url", url)).out.toString()).toContain("?[31mred?.txt");
});

test("uploads a file larger than a form in parts", async () => {
  const bytes = randomBytes(1050);
  limits = { form: 1049, part: 100 };
  onTestFinished(() => {
    limits = undefined;
  });
  const { out, err } = await files("upload", localFile("large.jsonl", bytes), "--json", "--expires-after", "7200");
  const made = JSON.parse(out.toString());
  expect(made).toMatchObject({ filename: "large.jsonl", bytes: 1050, expires_at: made.created_at + 7200 });
  expect(err).toContain("100 %");
  expect((await files("get", made.id)).out.equals(bytes)).toBe(true);
});

test("reports each failure as a message", async () => {
  await expect(files("upload", "/nonexistent/in.jsonl")).rejects.toThrow("There is no file /nonexistent/in.jsonl.");
  await expect(files("upload", freshFolder())).rejects.toThrow(/There is no file/);
  await expect(files("list", "--limit", "0")).rejects.toMatchObject({ status: 400 });
  await expect(files("list", "--url", "ftp://x")).rejects.toThrow(/must be like http/);
  await expect(files("list", "--url", await serve(null))).rejects.toThrow(/No server answers at .*ECONNREFUSED/);
  const tooShort = files("upload", localFile("x.txt", "x"), "--expires-after", "5");
  await expect(tooShort).rejects.toMatchObject({ status: 400 });
});

test("leaves no output file after an interrupted download", async () => {
  const breaking = await serve((res) => {
    res.writeHead(200, { "content-length": 1000 });
    res.write("half", () => res.destroy());
  });
  const folder = freshFolder();
  mkdirSync(join(folder, "sub"));
  const target = join(folder, "sub", "copy");
  await expect(files("get", "file-x", "-o", target, "--url", breaking)).rejects.toThrow(/could not be written/);
  expect(readdirSync(join(folder, "sub"))).toEqual([]);
});

test("reports a refusal during an upload instead of the broken connection", async () => {
  const refusing = await serve((res) => {
    res.writeHead(507, { "content-type": "application/json", connection: "close" });
    res.end(JSON.stringify({ error: { message: "No room.", type: "server_error", param: null, code: "x" } }));
  });
  const path = localFile("x.bin", Buffer.alloc(50_000_000));
  await expect(files("upload", path, "--url", refusing)).rejects.toMatchObject({ status: 507, message: "No room." });
});

test("takes key and URL from the environment", async () => {
  const requests: (string | undefined)[] = [];
  const url = await serve((res, req) => {
    requests.push(req.url, req.headers.authorization);
    res.end('{"object":"list","data":[],"first_id":null,"last_id":null,"has_more":false}');
  });
  const stdout = new Writable({ write: (_c, _e, done) => done() });
  const stderr = { write: () => {} };
  const env = { NIGHTSHIFT_URL: `${url}/base/v1`, OPENAI_API_KEY: "sk-2" };
  await filesCommand(["list"], { env, stdout, stderr });
  await filesCommand(["list"], { env: { ...env, NIGHTSHIFT_URL: url, NIGHTSHIFT_API_KEY: "sk-1" }, stdout, stderr });
  expect(requests).toEqual(["/base/v1/files?limit=100", "Bearer sk-2", "/v1/files?limit=100", "Bearer sk-1"]);
  expect(() => new ApiClient("nonsense", {})).toThrow(/must be like/);
});

type Answer = (res: ServerResponse, req: IncomingMessage) => void;

/** A server that answers so; null: one that has gone. */
async function serve(answer: Answer | null): Promise<string> {
  const other: Server = createServer((req, res) => answer?.(res, req));
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  const { port } = other.address() as AddressInfo;
  const close = () => {
    other.closeAllConnections();
    return new Promise<void>((resolve) => other.close(() => resolve()));
  };
  if (answer === null) await close();
  else onTestFinished(close);
  return `http://127.0.0.1:${port}`;
}

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
