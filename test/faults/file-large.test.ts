import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { startServer, type TestServer } from "../api/server.ts";
import { until } from "../api/until.ts";

const MB = 1_000_000;
const HEAD = [
  '--X\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n',
  '--X\r\nContent-Disposition: form-data; name="file"; filename="in.jsonl"\r\n\r\n',
].join("");

/** A form with a file of this many bytes, streamed in pieces. `held` may delay it. */
function form(bytes: number, held: (sent: number) => Promise<void> = async () => {}): ReadableStream<Uint8Array> {
  const chunk = Buffer.alloc(MB, '{"custom_id":"a"}\n');
  let sent = 0;
  return new ReadableStream({
    start: (controller) => controller.enqueue(Buffer.from(HEAD)),
    async pull(controller) {
      await held(sent);
      if (sent < bytes) {
        controller.enqueue(chunk.subarray(0, Math.min(MB, bytes - sent)));
        sent += MB;
      } else {
        controller.enqueue(Buffer.from("\r\n--X--\r\n"));
        controller.close();
      }
    },
  });
}

async function post(server: TestServer, body: ReadableStream<Uint8Array>): Promise<Response> {
  const headers = { "content-type": "multipart/form-data; boundary=X" };
  return fetch(`${server.origin}/v1/files`, { method: "POST", headers, body, ...{ duplex: "half" } });
}

function peakMemory(pid: number): number {
  const [, kib] = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kib) * 1024;
}

test("an upload of 200 MB takes bounded memory", async () => {
  const server = await startServer();
  onTestFinished(() => server.stop());
  const before = peakMemory(server.pid);
  const response = await post(server, form(200 * MB));
  expect(response.status).toBe(200);
  expect(await response.json()).toMatchObject({ bytes: 200 * MB });
  expect(peakMemory(server.pid) - before).toBeLessThan(80 * MB);
});

test("kill -9 during an upload leaves only the files that were answered", async () => {
  const dataDir = mkdtempSync(join(tmpdir(), "nightshift-files-"));
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
  const first = await startServer("--data-dir", dataDir);
  onTestFinished(() => first.stop());
  const answered = await post(first, form(3 * MB));
  const { id } = (await answered.json()) as { id: string };
  const broken = post(
    first,
    form(20 * MB, async (sent) => {
      if (sent < 10 * MB) return;
      await until("bytes on disk", () => readdirSync(join(dataDir, "tmp")).length === 1);
      first.kill("SIGKILL");
      await first.exited;
    }),
  );
  await expect(broken).rejects.toThrow();
  expect(readdirSync(join(dataDir, "tmp"))).toHaveLength(1);

  const second = await startServer("--data-dir", dataDir);
  onTestFinished(() => second.stop());
  expect(readdirSync(join(dataDir, "tmp"))).toEqual([]);
  expect(readdirSync(join(dataDir, "files"))).toEqual([id]);
  expect((await second.client.files.list()).data).toMatchObject([{ id, bytes: 3 * MB }]);
  expect((await (await second.client.files.content(id)).arrayBuffer()).byteLength).toBe(3 * MB);
  await second.client.files.delete(id);
  expect(existsSync(join(dataDir, "files", id))).toBe(false);
});
