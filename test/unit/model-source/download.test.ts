import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { type ResolvedModel, resolveModels } from "../../../server/model-source/resolve.ts";
import { mountSmallDisk } from "../../faults/small-disk.ts";
import { FakeHub, fakeGguf } from "./fake-hub.ts";

const MB = 1024 * 1024;

function freshFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "nightshift-models-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

interface Download {
  models: Promise<ResolvedModel[]>;
  progress: [done: number, total: number][];
  ended: () => number;
}

function download(hub: FakeHub, value: string, folder: string, signal?: AbortSignal, token = ""): Download {
  const progress: [number, number][] = [];
  let ends = 0;
  const models = resolveModels([value], {
    folder,
    env: { HF_ENDPOINT: hub.endpoint, HF_TOKEN: token },
    onDownload: () => ({ update: (done, total) => progress.push([done, total]), end: () => ends++ }),
    signal,
  });
  return { models, progress, ended: () => ends };
}

/** What has come is noted behind the end of the file-to-be. */
async function firstPartSaved(folder: string, fileSize: number): Promise<void> {
  await vi.waitFor(
    () => {
      const partial = readdirSync(folder).find((name) => name.endsWith(".ipull"));
      expect(statSync(join(folder, partial!)).size).toBeGreaterThan(fileSize);
    },
    { timeout: 20_000, interval: 10 },
  );
}

describe("a download", () => {
  it("by quantization asks the hub for the file, brings it, and is found again without the network", async () => {
    const hub = await FakeHub.start();
    const folder = freshFolder();
    const file = fakeGguf(2 * MB);
    hub.manifests.set("/v2/o/tiny-GGUF/manifests/Q4_K_M", "tiny-q4_k_m.gguf");
    hub.files.set("/o/tiny-GGUF/resolve/main/tiny-q4_k_m.gguf", file);
    const first = download(hub, "hf:o/tiny-GGUF:Q4_K_M", folder);
    const [model] = await first.models;
    expect(model?.name).toBe("tiny");
    expect(readFileSync(model!.path).equals(file)).toBe(true);
    expect(first.progress.at(-1)).toEqual([file.length, file.length]);
    expect(first.ended()).toBe(1);

    const asked = hub.requests.length;
    const second = download(hub, "again=hf:o/tiny-GGUF:Q4_K_M", folder);
    expect(await second.models).toEqual([{ name: "again", path: model!.path, adapters: [] }]);
    expect(hub.requests).toHaveLength(asked);
    expect(second.progress).toEqual([]);
  });

  it("by file and by address brings that file", async () => {
    const hub = await FakeHub.start();
    const file = fakeGguf(MB);
    hub.files.set("/o/r/resolve/dev/sub/m-Q8.gguf", file);
    const [byFile] = await download(hub, "hf:o/r/sub/m-Q8.gguf#dev", freshFolder()).models;
    expect(byFile?.name).toBe("m-Q8");
    expect(readFileSync(byFile!.path).equals(file)).toBe(true);
    const [byUrl] = await download(hub, `${hub.endpoint}/storage/o/r/resolve/dev/sub/m-Q8.gguf`, freshFolder()).models;
    expect(byUrl?.name).toBe("m-Q8");
    expect(readFileSync(byUrl!.path).equals(file)).toBe(true);
  });

  it("of a split model brings all parts and names the first", async () => {
    const hub = await FakeHub.start();
    const folder = freshFolder();
    for (const part of [1, 2, 3]) hub.files.set(`/o/r/resolve/main/m-0000${part}-of-00003.gguf`, fakeGguf(MB, part));
    const [model] = await download(hub, "hf:o/r/m-00001-of-00003.gguf", folder).models;
    expect(model?.name).toBe("m");
    expect(model?.path).toMatch(/m-00001-of-00003\.gguf$/);
    for (const part of [1, 2, 3]) {
      const path = model!.path.replace("00001-of", `0000${part}-of`);
      expect(readFileSync(path).equals(fakeGguf(MB, part))).toBe(true);
    }
  });

  it("survives a connection that breaks", async () => {
    const hub = await FakeHub.start();
    const file = fakeGguf(7 * MB);
    hub.files.set("/o/r/resolve/main/m.gguf", file);
    let breaks = 2;
    hub.intercept = (range, response) => {
      if (breaks === 0) return false;
      breaks -= 1;
      const [from = 0, to = 0] = /^bytes=(\d+)-(\d+)$/
        .exec(range ?? "")!
        .slice(1)
        .map(Number);
      response.writeHead(206, {
        "content-range": `bytes ${from}-${to}/${file.length}`,
        "content-length": to - from + 1,
      });
      response.write(file.subarray(from, from + 1000));
      setImmediate(() => response.destroy());
      return true;
    };
    const [model] = await download(hub, "hf:o/r/m.gguf", freshFolder()).models;
    expect(breaks).toBe(0);
    expect(readFileSync(model!.path).equals(file)).toBe(true);
  });

  it("goes on by a new address when the storage closes the one it gave", async () => {
    const hub = await FakeHub.start();
    const file = fakeGguf(12 * MB);
    hub.files.set("/o/r/resolve/main/m.gguf", file);
    const folder = freshFolder();
    const held: ServerResponse[] = [];
    let open = false;
    hub.intercept = (range, response) => {
      if (open || range?.startsWith("bytes=0-")) return false;
      held.push(response);
      return true;
    };
    const { models } = download(hub, "hf:o/r/m.gguf", folder);
    await firstPartSaved(folder, file.length);
    open = true;
    expect(held.length).toBeGreaterThan(0);
    for (const response of held) response.writeHead(403).end();
    const [model] = await models;
    expect(hub.ranges().filter((range) => range.startsWith("bytes=0-"))).toHaveLength(1);
    expect(readFileSync(model!.path).equals(file)).toBe(true);
  });

  it("whose storage refuses everything says so, and fails nothing else", async () => {
    const hub = await FakeHub.start();
    hub.files.set("/o/r/resolve/main/m.gguf", fakeGguf(12 * MB));
    hub.intercept = (_, response) => {
      response.writeHead(404).end();
      return true;
    };
    const { models, ended } = download(hub, "hf:o/r/m.gguf", freshFolder());
    await expect(models).rejects.toThrow(/stopped: .*404.*Start again/);
    expect(ended()).toBe(1);
  });

  it("that was stopped goes on from where it stopped", async () => {
    const hub = await FakeHub.start();
    const folder = freshFolder();
    const file = fakeGguf(12 * MB);
    hub.files.set("/o/r/resolve/main/m.gguf", file);
    // Only the first part comes; the others hang.
    hub.intercept = (range) => !range?.startsWith("bytes=0-");
    const stop = new AbortController();
    const first = download(hub, "hf:o/r/m.gguf", folder, stop.signal);
    const stopped = expect(first.models).rejects.toThrow("enough");
    await firstPartSaved(folder, file.length);
    stop.abort(new Error("enough"));
    await stopped;

    hub.intercept = () => false;
    const before = hub.ranges().length;
    const second = download(hub, "hf:o/r/m.gguf", folder);
    const [model] = await second.models;
    expect(readFileSync(model!.path).equals(file)).toBe(true);
    const later = hub.ranges().slice(before);
    expect(later.length).toBeGreaterThan(0);
    expect(later.filter((range) => range.startsWith("bytes=0-"))).toEqual([]);
    expect(second.progress[0]![0]).toBeGreaterThanOrEqual(2 * MB);
  });

  it("of another size than was announced fails and is deleted", async () => {
    const hub = await FakeHub.start();
    const folder = freshFolder();
    hub.files.set("/o/r/resolve/main/m.gguf", fakeGguf(MB));
    hub.linkedSize = MB + 1;
    const { models } = download(hub, "hf:o/r/m.gguf", folder);
    await expect(models).rejects.toThrow(/m\.gguf has 1048576 bytes, and 1048577 were announced.*start again/);
    expect(readdirSync(folder)).toEqual([]);
  });

  it("with other bytes than were announced fails and is deleted, and the right ones pass", async () => {
    const hub = await FakeHub.start();
    const folder = freshFolder();
    const file = fakeGguf(MB);
    hub.files.set("/o/r/resolve/main/m.gguf", file);
    hub.linkedHash = createHash("sha256").update("something else").digest("hex");
    const refused = download(hub, "hf:o/r/m.gguf", folder).models;
    await expect(refused).rejects.toThrow(/m\.gguf is not what was announced \(SHA-256 [0-9a-f]{64}\).*start again/);
    expect(readdirSync(folder)).toEqual([]);
    hub.linkedHash = createHash("sha256").update(file).digest("hex");
    const [model] = await download(hub, "hf:o/r/m.gguf", folder).models;
    expect(readFileSync(model!.path).equals(file)).toBe(true);
  });

  it("that has no room on the disk says how much it needs, and fetches nothing", async ({ skip }) => {
    const disk = mountSmallDisk(MB);
    if (disk === null) skip("only root may mount a small disk");
    onTestFinished(() => disk!.unmount());
    const hub = await FakeHub.start();
    hub.files.set("/o/r/resolve/main/m.gguf", fakeGguf(3 * MB));
    const { models } = download(hub, "hf:o/r/m.gguf", disk!.path);
    await expect(models).rejects.toThrow(/needs 0\.0 GB more, and .* has room for 0\.0 GB.*--models-dir/);
  });

  it("that is no GGUF fails and is deleted", async () => {
    const hub = await FakeHub.start();
    const folder = freshFolder();
    hub.files.set("/o/r/resolve/main/m.gguf", Buffer.from("<html>not a model</html>"));
    await expect(download(hub, "hf:o/r/m.gguf", folder).models).rejects.toThrow("is not a GGUF file");
    expect(readdirSync(folder)).toEqual([]);
  });

  it("whose file was damaged since is downloaded again", async () => {
    const hub = await FakeHub.start();
    const folder = freshFolder();
    const file = fakeGguf(MB);
    hub.files.set("/o/r/resolve/main/m.gguf", file);
    const [model] = await download(hub, "hf:o/r/m.gguf", folder).models;
    writeFileSync(model!.path, "GGUF short");
    const [again] = await download(hub, "hf:o/r/m.gguf", folder).models;
    expect(readFileSync(again!.path).equals(file)).toBe(true);
  });
});

describe("what cannot be downloaded", () => {
  it("says that there is no such file or quantization", async () => {
    const hub = await FakeHub.start();
    for (const value of ["hf:o/r/m.gguf", "hf:o/r:Q4_K_M", `${hub.endpoint}/m.gguf`]) {
      await expect(download(hub, value, freshFolder()).models).rejects.toThrow(/no such.*Check how it is spelled/);
    }
  });

  it("says that a token is needed, and a token opens it", async () => {
    const hub = await FakeHub.start();
    hub.token = "secret";
    const file = fakeGguf(MB);
    hub.files.set("/o/r/resolve/main/m.gguf", file);
    hub.manifests.set("/v2/o/r/manifests/Q8_0", "m.gguf");
    for (const value of ["hf:o/r/m.gguf", "hf:o/r:Q8_0"]) {
      const refused = await download(hub, value, freshFolder(), undefined, "wrong").models.catch(
        (error: Error) => error,
      );
      expect(refused).toMatchObject({ message: expect.stringContaining("HF_TOKEN may not read it") });
      const [model] = await download(hub, value, freshFolder(), undefined, "secret").models;
      expect(readFileSync(model!.path).equals(file)).toBe(true);
    }
    await expect(download(hub, "hf:o/r/m.gguf", freshFolder()).models).rejects.toThrow("set HF_TOKEN");
  });

  it("says at once that the server cannot be reached", async () => {
    const models = resolveModels(["http://127.0.0.1:1/m.gguf"], {
      folder: freshFolder(),
      env: {},
      onDownload: () => ({ update: () => {}, end: () => {} }),
    });
    await expect(models).rejects.toThrow("127.0.0.1:1 cannot be reached");
  });
});
