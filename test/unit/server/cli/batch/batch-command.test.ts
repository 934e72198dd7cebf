import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { Writable } from "node:stream";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ApiError } from "../../../../../openapi/api-error.ts";
import { type Batch, batch as batchSchema } from "../../../../../openapi/resources/batches.ts";
import { batchCommand } from "../../../../../server/cli/batch/batch-command.ts";
import { chatLine, jsonl } from "../../../../batch/batch-rig.ts";
import { freshFolder } from "../../../store/test-store.ts";
import { saying } from "../../fake-engine.ts";
import { startTestServer, type TestServer } from "../../test-server.ts";

let server: TestServer;
beforeEach(async () => {
  server = await startTestServer();
  server.engine.script = (request) => {
    if (!JSON.stringify(request.submission.prompt).includes("bad")) return saying("yes")(request);
    request.fail(new ApiError("invalid_value", "No."));
  };
});
afterEach(() => server.close());

interface Ran {
  out: string;
  err: string;
  code: number;
}

interface Surroundings {
  interrupted?: AbortSignal;
  now?: () => number;
  onStderr?: (err: string) => void;
  url?: string;
  key?: Record<string, string>;
}

async function batch(
  args: string[],
  { interrupted, now = Date.now, onStderr, url = server.url, key }: Surroundings = {},
): Promise<Ran> {
  const ran: Ran = { out: "", err: "", code: 0 };
  const stdout = new Writable({
    write(chunk: Buffer, _, done) {
      ran.out += chunk.toString();
      done();
    },
  });
  const stderr = {
    write(text: string) {
      ran.err += text;
      onStderr?.(ran.err);
    },
  };
  await batchCommand(args, {
    env: { NIGHTSHIFT_URL: url, ...key },
    stdout,
    stderr,
    interrupted: interrupted ?? new AbortController().signal,
    exitCode: (code) => {
      ran.code = code;
    },
    now,
    pollMs: 5,
  });
  return ran;
}

function input(...lines: unknown[]): { path: string; at: (name: string) => string } {
  const folder = freshFolder();
  writeFileSync(join(folder, "in.jsonl"), jsonl(lines));
  return { path: join(folder, "in.jsonl"), at: (name) => join(folder, name) };
}

/** The ids that `list` prints, below its head. */
async function listed(): Promise<string[]> {
  const [head, ...rows] = (await batch(["list"])).out.trim().split("\n");
  expect(head).toMatch(/^id +model +state$/);
  return rows.map((row) => row.split(/ +/)[0]!);
}

const shown = async (id: string): Promise<Batch> => batchSchema.parse(JSON.parse((await batch(["show", id])).out));

describe("batch run", () => {
  it("submits, watches, writes the answers and prints a summary", async () => {
    const { path, at } = input(chatLine("a", "good"), chatLine("b", "good"));
    const { out, err, code } = await batch(["run", path, "-o", at("out.jsonl")]);
    expect([out, code]).toEqual(["", 0]);
    const ids = readFileSync(at("out.jsonl"), "utf8").trim().split("\n");
    expect(ids.map((line) => JSON.parse(line).custom_id)).toEqual(["a", "b"]);
    expect(err).toMatch(/^batch_\w+\nvalidating: /);
    expect(err).toMatch(/completed: 2 of 2 lines answered, 0 failed, 12 tokens, USD 0\.\d{6}\n$/);
    expect(existsSync(at("out.errors.jsonl"))).toBe(false);
  });

  it("writes failed lines beside the answers, and exits with 1", async () => {
    const { path, at } = input(chatLine("a", "good"), chatLine("b", "bad"));
    const { err, code } = await batch(["run", path, "-o", at("out.jsonl")]);
    expect(code).toBe(1);
    expect(JSON.parse(readFileSync(at("out.errors.jsonl"), "utf8"))).toMatchObject({ custom_id: "b" });
    expect(err).toContain(`Lines that failed or did not run: ${at("out.errors.jsonl")}\n`);
  });

  it("without -o writes answers to stdout, and prints the file of failed lines", async () => {
    const { out, err } = await batch(["run", input(chatLine("a", "good"), chatLine("b", "bad")).path]);
    expect(out.trim().split("\n")).toHaveLength(1);
    expect(JSON.parse(out)).toMatchObject({ custom_id: "a", error: null });
    const [, id = ""] = /nightshift batch errors (batch_\w+)/.exec(err) ?? [];
    const errors = await batch(["errors", id]);
    expect(JSON.parse(errors.out)).toMatchObject({ custom_id: "b", response: { status_code: 400 } });
  });

  it("prints each error of an invalid file with its line, and exits with 2", async () => {
    const { path, at } = input(chatLine("a", "good"), "{", chatLine("a", "good"));
    const { err, code } = await batch(["run", path, "-o", at("out.jsonl")]);
    expect(code).toBe(2);
    expect(err).toMatch(/^line 2: This line is not parseable as valid JSON\.$/m);
    expect(err).toMatch(/^line 3: The custom_id 'a' .* is a duplicate/m);
    expect(err).toMatch(/^failed: nothing ran, and nothing is charged$/m);
    expect(existsSync(at("out.jsonl"))).toBe(false);
  });

  it("leaves the batch running on Ctrl-C, and watches it to its end later", async () => {
    server.engine.script = null;
    const request = server.engine.next();
    const ctrlC = new AbortController();
    const { path, at } = input(chatLine("a", "good"));
    const { err, code } = await batch(["run", path, "-o", at("out.jsonl")], {
      interrupted: ctrlC.signal,
      onStderr: (text) => void (text.includes("0 of 1 lines") && ctrlC.abort()),
    });
    expect(code).toBe(130);
    const [, id = ""] = /The batch continues\. Watch it: nightshift batch watch (batch_\w+)\n$/.exec(err) ?? [];
    expect((await shown(id)).status).toBe("in_progress");
    expect(existsSync(at("out.jsonl"))).toBe(false);
    saying("yes")(await request);
    const later = await batch(["watch", id]);
    expect(later.code).toBe(0);
    expect(later.err).toMatch(/^Answers: nightshift files get file-\w+\ncompleted: 1 of 1 lines answered, 0 failed, /m);
  });

  it("survives a server outage of less than a minute, and fails after a longer one", async () => {
    server.engine.script = () => {};
    const { path } = input(chatLine("a", "good"));
    let passed = 0;
    let closed = false;
    let failedReads = 0;
    const now = () => {
      if (closed) failedReads++;
      return Date.now() + passed;
    };
    const onStderr = (text: string) => {
      if (text.includes("0 of 1 lines")) void server.close().then(() => (closed = true));
    };
    const over = batch(["run", path], { now, onStderr }).catch((error: Error) => error);
    await expect.poll(() => failedReads).toBeGreaterThan(3);
    passed = 61_000;
    expect(await over).toMatchObject({ status: null });
    server = await startTestServer();
  });

  it("creates no batch when it is interrupted during the upload", async () => {
    const ctrlC = new AbortController();
    const requests: string[] = [];
    let cut = () => {};
    const cutOff = new Promise<void>((resolve) => (cut = resolve));
    const silent = createServer((request) => {
      requests.push(`${request.method} ${request.url}`);
      request.once("error", cut);
      if (request.method === "POST") ctrlC.abort();
    });
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    try {
      const { err, code } = await batch(["submit", input(chatLine("a", "good")).path], {
        url,
        interrupted: ctrlC.signal,
      });
      await cutOff;
      expect({ err, code }).toEqual({ err: "Interrupted; nothing was submitted.\n", code: 130 });
      expect(requests).toEqual(["POST /v1/files"]);
    } finally {
      silent.close();
    }
  });

  it("continues the batch of the same file; --again creates a new one", async () => {
    const { path, at } = input(chatLine("a", "good"));
    await batch(["run", path, "-o", at("first.jsonl")]);
    const [id] = await listed();
    const second = await batch(["run", path, "-o", at("second.jsonl")]);
    expect(second.err).toContain(
      `${id}\nThis file was submitted before; its batch is completed. --again creates a new batch.\n`,
    );
    expect(readFileSync(at("second.jsonl"), "utf8")).toBe(readFileSync(at("first.jsonl"), "utf8"));
    expect(await listed()).toEqual([id]);
    await batch(["run", path, "--again"]);
    expect(await listed()).toHaveLength(2);
    writeFileSync(path, jsonl([chatLine("a", "another")]));
    await batch(["run", path]);
    expect(await listed()).toHaveLength(3);
  });

  it("writes the results of a finished batch only", async () => {
    server.engine.script = null;
    const request = server.engine.next();
    const { path, at } = input(chatLine("a", "good"));
    const id = (await batch(["submit", path])).out.trim();
    const started = await request;
    await expect(batch(["results", id])).rejects.toThrow(`The batch is in_progress: nightshift batch watch ${id}`);
    saying("yes")(started);
    await batch(["watch", id]);
    const { code } = await batch(["results", id, "-o", at("out.jsonl")]);
    expect(code).toBe(0);
    expect(JSON.parse(readFileSync(at("out.jsonl"), "utf8"))).toMatchObject({ custom_id: "a", error: null });
  });

  it.each([
    ["there is no such file", undefined, /There is no file|cannot be read/],
    ["its first line names no url", [{ url: 5 }], /has no url\. Set it with --endpoint/],
    [
      "a request is spread over lines",
      ["{", '"url": "/v1/chat/completions"}'],
      /not JSON\. Each line of the file must be one whole request/,
    ],
    ["it has nothing but blank lines", ["", " "], /is empty: a batch has one request per line/],
  ])("fails before sending anything if %s", async (_, lines, message) => {
    const path = lines === undefined ? "/nowhere/in.jsonl" : input(...lines).path;
    await expect(batch(["run", path])).rejects.toThrow(message);
    expect(await listed()).toEqual([]);
  });

  it("fails before sending anything if its results could not be written", async () => {
    const { path, at } = input(chatLine("a", "good"));
    await expect(batch(["run", path, "-o", at("missing/out.jsonl")])).rejects.toThrow(
      /out\.jsonl could not be written/,
    );
    expect(await listed()).toEqual([]);
  });
});

describe("batch submit, list, show, cancel", () => {
  it("prints the id, keeps metadata, and lists newest first", async () => {
    const { path } = input(chatLine("a", "good"));
    const first = (await batch(["submit", "--metadata", "run=7", "--metadata", "why=a=b", path])).out.trim();
    const second: Batch = JSON.parse((await batch(["submit", path, "--json"])).out);
    expect((await shown(first)).metadata).toEqual({ run: "7", why: "a=b" });
    await batch(["watch", first]);
    await batch(["watch", second.id]);
    expect(await listed()).toEqual([second.id, first]);
    const page = await batch(["list", "--limit", "1"]);
    expect(page.err).toBe(`There are more: --after ${second.id}\n`);
    expect((await batch(["list", "--limit", "1", "--after", second.id])).out).toContain(first);
  });

  it("refuses metadata that is not key=value", async () => {
    const { path } = input(chatLine("a", "good"));
    await expect(batch(["submit", path, "--metadata", "novalue"])).rejects.toThrow(/--metadata takes key=value/);
  });

  it("ends the watch of a cancelled batch with 4, and refuses to cancel a finished one", async () => {
    server.engine.script = () => {};
    const id = (await batch(["submit", input(chatLine("a", "good")).path])).out.trim();
    expect((await batch(["cancel", id])).out).toBe("cancelling\n");
    expect((await batch(["watch", id])).code).toBe(4);
    expect((await batch(["cancel", id])).out).toBe("cancelled\n");
    await expect(batch(["cancel", "batch_nope"])).rejects.toMatchObject({ status: 404 });
  });
});
