import { once } from "node:events";
import { readdirSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { File as ApiFile } from "../../openapi/resources/files.ts";
import { until } from "../api/until.ts";
import { exchange, openSocket } from "../unit/server/http/raw-socket.ts";
import { startTestServer, type TestServer } from "../unit/server/test-server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());

// No request leaves a file behind.
afterEach(() => until("tmp to be empty", () => readdirSync(join(server.dataDir, "tmp")).length === 0));

const B = "X-BOUNDARY";
const field = (name: string, value: string) =>
  `--${B}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
const filePart = (filename: string, content: string, name = "file") =>
  `--${B}\r\nContent-Disposition: form-data; name="${name}"; filename=${filename}\r\n\r\n${content}\r\n`;
const END = `--${B}--\r\n`;
const PURPOSE = field("purpose", "user_data");

async function post(body: string | Uint8Array, type = `multipart/form-data; boundary=${B}`): Promise<Response> {
  return fetch(`${server.url}/v1/files`, { method: "POST", headers: { "content-type": type }, body });
}

async function created(body: string): Promise<ApiFile> {
  const response = await post(body);
  expect(response.status).toBe(200);
  return (await response.json()) as ApiFile;
}

function head(length: number | null, path = "/v1/files"): string {
  const size = length === null ? "Transfer-Encoding: chunked" : `Content-Length: ${length}`;
  return `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; boundary=${B}\r\n${size}\r\n\r\n`;
}

describe("file names are data", () => {
  test.each([
    ['"../../etc/passwd"', "passwd"],
    ['"/etc/passwd"', "passwd"],
    ['"C:\\\\Windows\\\\CON.txt"', "CON.txt"],
    ['".."', "unnamed"],
    [`"${"n".repeat(4096)}"`, "n".repeat(4096)],
    ['"naïve — 夜.jsonl"', "naïve — 夜.jsonl"],
    ['"a;b\'c%22.txt"', "a;b'c%22.txt"],
    ['"CON"', "CON"],
  ])("%s", async (written, filename) => {
    const file = await created(PURPOSE + filePart(written, "content") + END);
    expect(file.filename).toBe(filename);
    expect(file.id).toMatch(/^file-[A-Za-z0-9]{24}$/);
    expect(readdirSync(join(server.dataDir, "files"))).toContain(file.id);
    const content = await fetch(`${server.url}/v1/files/${file.id}/content`);
    expect(await content.text()).toBe("content");
    const disposition = content.headers.get("content-disposition")!;
    expect(disposition).toMatch(/^attachment(;|$)/);
    expect(disposition).toMatch(/^[\x20-\x7e\xa0-\xff]{1,2000}$/);
    expect(content.headers.get("set-cookie")).toBeNull();
    expect(content.headers.get("x-content-type-options")).toBe("nosniff");
  });

  test.each(["%00", "%0d%0aSet-Cookie%3A%20a"])("with %s are refused", async (name) => {
    const written = `"x"; filename*=UTF-8''x${name}y`;
    const response = await post(PURPOSE + filePart(written, "content") + END);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { code: "invalid_value", param: "file" } });
  });

  test("are sent to browsers by RFC 6266", async () => {
    const { id } = await created(PURPOSE + filePart('"夜 shift.jsonl"', "x") + END);
    const { headers } = await fetch(`${server.url}/v1/files/${id}/content`);
    expect(headers.get("content-disposition")).toBe(
      `attachment; filename="? shift.jsonl"; filename*=UTF-8''%E5%A4%9C%20shift.jsonl`,
    );
  });

  test.each(["..%2f..%2fetc%2fpasswd", "file-..%2f..", "file-%00", `file-${"a".repeat(25)}`, "FILE-x", "%E0%A4"])(
    "an id like %s finds nothing",
    async (id) => {
      for (const path of [id, `${id}/content`]) {
        const response = await fetch(`${server.url}/v1/files/${path}`);
        expect([400, 404]).toContain(response.status);
        expect(await response.json()).toMatchObject({ error: { type: "invalid_request_error" } });
      }
    },
  );
});

describe("an invalid form is a 400", () => {
  test.each([
    ["no file", PURPOSE + END],
    ["nothing at all", END],
    ["an empty body", ""],
    ["no end", PURPOSE + filePart("x", "content")],
    ["no boundary in the body", "content"],
    ["another boundary", (PURPOSE + filePart("x", "content") + END).replaceAll(B, "OTHER")],
    ["two files", PURPOSE + filePart("x", "one") + filePart("y", "two") + END],
    ["two files, the second in another field", PURPOSE + filePart("x", "one") + filePart("y", "two", "data") + END],
    ["the file in another field", PURPOSE + filePart("x", "one", "document") + END],
    ["a file without a name, as browsers send none", PURPOSE + filePart('""', "") + END],
    ["the file as text", PURPOSE + field("file", "content") + END],
    ["1000 parts", PURPOSE + filePart("x", "one") + field("a", "b").repeat(1000) + END],
    ["1000 parts of one name", field("purpose", "batch").repeat(1000) + END],
    ["the purpose twice", PURPOSE + PURPOSE + filePart("x", "content") + END],
    ["a purpose of 1 MB", field("purpose", "x".repeat(1_000_000)) + filePart("x", "content") + END],
    ["a nested purpose", field("purpose[a][b]", "batch") + filePart("x", "content") + END],
    ["a prototype", field("__proto__[purpose]", "batch") + filePart("x", "content") + END],
    ["a bad part header after the file", `${PURPOSE}${filePart("x", "y")}--${B}\r\n\0bad\r\n\r\nx\r\n${END}`],
    [
      "a part header of 100 kB",
      `--${B}\r\nContent-Disposition: form-data; name="${"x".repeat(100_000)}"\r\n\r\n${END}`,
    ],
    ["a part header without an end", `--${B}\r\n${"a".repeat(100_000)}`],
    ["fractions of seconds", PURPOSE + field("expires_after[seconds]", "1e4") + filePart("x", "y") + END],
    ["half an expiry", PURPOSE + field("expires_after[seconds]", "7200") + filePart("x", "y") + END],
  ])("%s", async (_, body) => {
    const before = readdirSync(join(server.dataDir, "files")).length;
    const response = await post(body);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { type: "invalid_request_error" } });
    expect(readdirSync(join(server.dataDir, "files"))).toHaveLength(before);
  });

  test.each([
    ["multipart/form-data", 400],
    ["multipart/form-data; boundary=", 400],
    ["application/json", 415],
    ["multipart/mixed; boundary=X", 415],
    ["", 415],
  ])("with Content-Type %j is a %d", async (type, status) => {
    expect((await post(PURPOSE + filePart("x", "y") + END, type)).status).toBe(status);
  });

  test("the purpose may come after the file", async () => {
    expect(await created(filePart("x.jsonl", "y") + field("purpose", "batch") + END)).toMatchObject({
      purpose: "batch",
    });
    const late = await post(filePart("x.txt", "y") + field("purpose", "batch") + END);
    expect(late.status).toBe(400);
  });
});

describe("an upload that breaks off", () => {
  const half = PURPOSE + filePart("x", "content").slice(0, -4);

  test("by a closed connection leaves no file", async () => {
    const errors = server.lines.filter(({ level }) => level === "error").length;
    const sockets = await Promise.all(Array.from({ length: 20 }, () => openSocket(server.port, head(1000) + half)));
    await until("20 files on their way", () => readdirSync(join(server.dataDir, "tmp")).length === 20);
    for (const socket of sockets) socket.destroy();
    await until("tmp to be empty", () => readdirSync(join(server.dataDir, "tmp")).length === 0);
    expect(server.lines.filter(({ level }) => level === "error")).toHaveLength(errors);
    await created(PURPOSE + filePart("x", "y") + END);
  });

  test("by an end in the middle of the form is a 400", async () => {
    const answer = await exchange(server.port, head(half.length).replace("Host", "Connection: close\r\nHost") + half);
    expect(answer).toMatch(/^HTTP\/1.1 400 [\s\S]*"code":"invalid_form"/);
  });

  test("by a bad chunk is a 400", async () => {
    expect(await exchange(server.port, `${head(null)}zz\r\n`)).toMatch(/^HTTP\/1.1 400 /);
  });
});

describe("too many bytes are a 413", () => {
  test("before any is sent, where the client expects 100 Continue", async () => {
    const waiting = head(10 ** 9).replace("\r\n\r\n", "\r\nExpect: 100-continue\r\n\r\n");
    expect(await exchange(server.port, waiting)).toMatch(/^HTTP\/1.1 413 [\s\S]*"code":"file_too_large"/);
  });

  test("as they arrive, without a Content-Length", async () => {
    const { socket, answer } = await streamTo(head(null, `/v1/uploads/${await pendingUpload()}/parts`));
    const chunk = Buffer.alloc(1024 * 1024, "x");
    const framed = Buffer.concat([Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from("\r\n")]);
    const start = `--${B}\r\nContent-Disposition: form-data; name="data"; filename="x"\r\n\r\n`;
    socket.write(`${start.length.toString(16)}\r\n${start}\r\n`);
    for (let sent = 0; sent < 80 && !socket.destroyed; sent++) {
      if (!socket.write(framed)) await Promise.race([once(socket, "drain"), answer]);
    }
    expect(await answer).toMatch(/^HTTP\/1.1 413 [\s\S]*"code":"file_too_large"/);
  });

  async function pendingUpload(): Promise<string> {
    const body = { filename: "x", purpose: "user_data", bytes: 2 ** 30, mime_type: "text/plain" };
    const response = await server.post("/v1/uploads", body);
    return ((await response.json()) as { id: string }).id;
  }
});

async function streamTo(text: string): Promise<{ socket: Socket; answer: Promise<string> }> {
  const socket = connect(server.port, "127.0.0.1");
  const answer = new Promise<string>((resolve) => {
    let received = "";
    socket.on("data", (data: Buffer) => {
      received += data.toString();
    });
    socket.on("error", () => {});
    socket.on("close", () => resolve(received));
  });
  socket.write(text);
  return { socket, answer };
}
