import { createHash, randomBytes } from "node:crypto";
import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { APIError, toFile } from "openai";
import { expect, onTestFinished, test } from "vitest";
import { startServer, type TestServer } from "../api/server.ts";
import { until } from "../api/until.ts";
import { mountSmallDisk } from "./small-disk.ts";

const MiB = 1024 * 1024;
const DISK = 48 * MiB;

interface Outcome {
  status: number;
  code: string | null | undefined;
}

async function upload(server: TestServer, bytes: Uint8Array): Promise<string | Outcome> {
  try {
    const file = await toFile(bytes, "in.jsonl");
    return (await server.client.files.create({ file, purpose: "batch" })).id;
  } catch (error) {
    if (!(error instanceof APIError)) throw error;
    return { status: error.status!, code: error.code };
  }
}

async function onSmallDisk(reserve: string): Promise<{ server: TestServer; dir: string } | null> {
  const disk = mountSmallDisk(DISK);
  if (disk === null) return null;
  onTestFinished(() => disk.unmount());
  const server = await startServer("--data-dir", disk.path, "--disk-reserve", reserve);
  onTestFinished(() => server.stop());
  return { server, dir: disk.path };
}

const FULL = { status: 507, code: "insufficient_storage" };

test("a disk that fills up during uploads is 507, and accepts files after a deletion", async ({ skip }) => {
  const small = await onSmallDisk("0");
  if (small === null) return skip("mounting a small file system needs root");
  const { server, dir } = small;
  const contents = Array.from({ length: 6 }, () => randomBytes(8 * MiB));
  // Together they do not fit, in any order.
  writeFileSync(join(dir, "ballast"), Buffer.alloc(20 * MiB));
  const outcomes = await Promise.all(contents.map((bytes) => upload(server, bytes)));
  const kept = outcomes.filter((outcome) => typeof outcome === "string");
  expect(kept.length).toBeLessThan(4);
  for (const outcome of outcomes) if (typeof outcome !== "string") expect(outcome).toEqual(FULL);
  await until("tmp to be empty", () => readdirSync(join(dir, "tmp")).length === 0);
  expect(readdirSync(join(dir, "files")).sort()).toEqual(kept.sort());

  rmSync(join(dir, "ballast"));
  const again = await upload(server, contents[0]!);
  expect(again).toMatch(/^file-/);
  const content = await server.client.files.content(String(again));
  expect(sha256(await content.arrayBuffer())).toBe(sha256(contents[0]!));
  await until("the store to be writable", async () => (await server.ready()).status === 200);
  expect((await server.client.files.list()).data.map(({ id }) => id).sort()).toEqual([...kept, again].sort());
});

test("an upload into the disk reserve is refused before its first byte", async ({ skip }) => {
  const small = await onSmallDisk("16MiB");
  if (small === null) return skip("mounting a small file system needs root");
  const { server, dir } = small;
  const id = await upload(server, randomBytes(8 * MiB));
  expect(id).toMatch(/^file-/);
  expect(await upload(server, randomBytes(30 * MiB))).toEqual(FULL);
  expect(readdirSync(join(dir, "files"))).toEqual([id]);
  // An announced length is refused before it is sent; the next upload is counted as it arrives.
  const chunk = new Uint8Array(MiB);
  const parts = [`--X\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n\r\n`, ...Array(30).fill(chunk)];
  const response = await fetch(`${server.origin}/v1/files`, {
    method: "POST",
    headers: { "content-type": "multipart/form-data; boundary=X" },
    body: new ReadableStream({
      pull(controller) {
        const part = parts.shift();
        if (part === undefined) controller.close();
        else controller.enqueue(typeof part === "string" ? new TextEncoder().encode(part) : part);
      },
    }),
    ...{ duplex: "half" },
  });
  expect(response.status).toBe(507);
  // The SDK would send the file again, twice.
  expect(response.headers.get("x-should-retry")).toBe("false");
  await until("tmp to be empty", () => readdirSync(join(dir, "tmp")).length === 0);
  expect((await server.ready()).status).toBe(200);
  const content = await server.client.files.content(String(id));
  expect((await content.arrayBuffer()).byteLength).toBe(8 * MiB);
});

function sha256(bytes: ArrayBuffer | Uint8Array): string {
  return createHash("sha256").update(new Uint8Array(bytes)).digest("hex");
}
