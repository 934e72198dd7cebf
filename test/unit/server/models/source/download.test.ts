import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { until } from "../../../../api/until.ts";
import { mountSmallDisk } from "../../../../faults/small-disk.ts";
import { canCountDescriptors, descriptorsIn } from "../../../open-descriptors.ts";
import { download, freshFolder, leftovers, MB } from "./downloading.ts";
import { FakeHub, fakeGguf } from "./fake-hub.ts";

const sha256 = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");

/** Records of finished downloads in a folder. */
function records(folder: string): { uri: string; files: { name: string; sha256: string; checked: boolean }[] }[] {
  const names = readdirSync(folder).filter((name) => /^\.[0-9a-f]{16}\.json$/.test(name));
  return names.map((name) => JSON.parse(readFileSync(join(folder, name), "utf8")));
}

describe("a download", () => {
  it("by quantization is downloaded from the hub, and found again without the network", async () => {
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
    const second = download(hub, "again=hf:o/tiny-GGUF:Q4_K_M", folder, { offline: true });
    expect(await second.models).toEqual([{ name: "again", path: model!.path, adapters: [] }]);
    expect(hub.requests).toHaveLength(asked);
    expect(second.progress).toEqual([]);
  });

  it("receives no more than its rate", async () => {
    const hub = await FakeHub.start();
    hub.files.set("/o/r/resolve/main/m.gguf", fakeGguf(4 * MB));
    const stop = new AbortController();
    const slow = download(hub, "hf:o/r/m.gguf", freshFolder(), { bytesPerSecond: 1024, signal: stop.signal });
    await until("the first bytes", () => slow.progress.length > 1);
    await download(hub, "hf:o/r/m.gguf", freshFolder()).models;
    const [done, total] = slow.progress.at(-1)!;
    expect(done).toBeLessThan(total);
    stop.abort(new Error("enough"));
    await expect(slow.models).rejects.toThrow();
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
    for (const part of [1, 2, 3]) hub.files.set(`/o/r/resolve/main/m-0000${part}-of-00003.gguf`, fakeGguf(MB, part));
    const [model] = await download(hub, "hf:o/r/m-00001-of-00003.gguf", freshFolder()).models;
    expect(model?.name).toBe("m");
    expect(model?.path).toMatch(/m-00001-of-00003\.gguf$/);
    for (const part of [1, 2, 3]) {
      const path = model!.path.replace("00001-of", `0000${part}-of`);
      expect(readFileSync(path).equals(fakeGguf(MB, part))).toBe(true);
    }
  });

  it("of a file that was cut up puts the pieces together", async () => {
    const hub = await FakeHub.start();
    const folder = freshFolder();
    const file = fakeGguf(5 * MB);
    hub.files.set("/o/r/resolve/main/m.gguf.part1of2", file.subarray(0, 3 * MB));
    hub.files.set("/o/r/resolve/main/m.gguf.part2of2", file.subarray(3 * MB));
    const [model] = await download(hub, "hf:o/r/m.gguf.part1of2", folder).models;
    expect(model?.path).toMatch(/m\.gguf$/);
    expect(readFileSync(model!.path).equals(file)).toBe(true);
    expect(leftovers(folder)).toHaveLength(2);
    if (canCountDescriptors) expect(descriptorsIn(folder)).toBe(0);
    const again = await download(hub, "hf:o/r/m.gguf.part1of2", folder, { offline: true }).models;
    expect(again[0]?.path).toBe(model?.path);
  });

  it.each([
    ["its own name", "hf:o/r/m.gguf.part1of4000000000"],
    ["its own name as a part", "hf:o/r/m-00001-of-99999.gguf"],
    ["the hub's manifest", "hf:o/r:Q4_K_M"],
  ])("of more than 512 files, by %s, is refused before any is asked for", async (_, value) => {
    const hub = await FakeHub.start();
    hub.manifests.set("/v2/o/r/manifests/Q4_K_M", "m.gguf.part1of4000000000");
    const { models } = download(hub, value, freshFolder());
    await expect(models).rejects.toThrow(/more than 512 files, the most that a model may have\. Name a GGUF file/);
    expect(hub.requests.filter(({ path }) => !path.includes("/manifests/"))).toEqual([]);
  });

  it("of a name that says 'one of none' brings that file", async () => {
    const hub = await FakeHub.start();
    for (const name of ["m.gguf.part1of0", "m-00001-of-00000.gguf"]) {
      hub.files.set(`/o/r/resolve/main/${name}`, fakeGguf(MB));
      const [model] = await download(hub, `hf:o/r/${name}`, freshFolder()).models;
      expect(readFileSync(model!.path).equals(fakeGguf(MB))).toBe(true);
    }
  });

  it("from a server that sends no parts of files brings the whole", async () => {
    const hub = await FakeHub.start();
    hub.parts = false;
    const file = fakeGguf(5 * MB);
    hub.files.set("/o/r/resolve/main/m.gguf", file);
    const { models, progress } = download(hub, "hf:o/r/m.gguf", freshFolder());
    const [model] = await models;
    expect(readFileSync(model!.path).equals(file)).toBe(true);
    expect(progress.at(-1)).toEqual([file.length, file.length]);
  });

  it("that has no room on the disk says how much it needs, and fetches nothing", async ({ skip }) => {
    const disk = mountSmallDisk(MB);
    if (disk === null) skip("only root may mount a small disk");
    onTestFinished(() => disk!.unmount());
    const hub = await FakeHub.start();
    hub.files.set("/o/r/resolve/main/m.gguf", fakeGguf(3 * MB));
    const { models } = download(hub, "hf:o/r/m.gguf", disk!.path);
    await expect(models).rejects.toThrow(/needs 0\.0 GB more, and .* has room for 0\.0 GB.*--models-dir/);
    expect(hub.ranges()).toEqual([]);
  });

  it("that is no GGUF fails and is deleted", async () => {
    const hub = await FakeHub.start();
    const folder = freshFolder();
    hub.files.set("/o/r/resolve/main/m.gguf", Buffer.from("<html>not a model</html>"));
    await expect(download(hub, "hf:o/r/m.gguf", folder).models).rejects.toThrow("is not a GGUF file");
    expect(leftovers(folder)).toEqual([]);
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

describe("two models whose files have one name at their servers", () => {
  it("are two files", async () => {
    const hub = await FakeHub.start();
    const folder = freshFolder();
    for (const seed of [1, 2]) hub.files.set(`/${seed}/m.gguf`, fakeGguf(MB, seed));
    for (const seed of [1, 2]) {
      const [model] = await download(hub, `n${seed}=${hub.endpoint}/storage/${seed}/m.gguf`, folder).models;
      expect(readFileSync(model!.path).equals(fakeGguf(MB, seed))).toBe(true);
    }
    const names = records(folder).flatMap(({ files }) => files.map(({ name }) => name));
    expect(new Set(names).size).toBe(2);
  });

  it("and whose records name one file are downloaded anew", async () => {
    const hub = await FakeHub.start();
    const folder = freshFolder();
    for (const seed of [1, 2]) hub.files.set(`/${seed}/m.gguf`, fakeGguf(MB, seed));
    const uris = [1, 2].map((seed) => `${hub.endpoint}/storage/${seed}/m.gguf`);
    writeFileSync(join(folder, "m.gguf"), fakeGguf(MB, 1));
    for (const uri of uris) {
      const name = `.${sha256(Buffer.from(uri)).slice(0, 16)}.json`;
      writeFileSync(
        join(folder, name),
        JSON.stringify({ uri, entry: "m.gguf", files: [{ name: "m.gguf", size: MB }] }),
      );
    }
    const [second] = await download(hub, uris[1]!, folder).models;
    expect(readFileSync(second!.path).equals(fakeGguf(MB, 2))).toBe(true);
  });
});

describe("the hash of a file", () => {
  const split = (part: number) => `/o/r/resolve/main/m-0000${part}-of-00002.gguf`;

  it.each(["hf:o/r:Q4_K_M", "hf:o/r/m-00001-of-00002.gguf"])(
    "of every part of %s must be the one that the hub says",
    async (value) => {
      const hub = await FakeHub.start();
      const folder = freshFolder();
      hub.manifests.set("/v2/o/r/manifests/Q4_K_M", "m-00001-of-00002.gguf");
      for (const part of [1, 2]) hub.files.set(split(part), fakeGguf(MB, part));
      const right = (path: string) => sha256(hub.files.get(path)!);
      hub.linkedHash = (path) => (path === split(2) ? sha256(Buffer.from("something else")) : right(path));
      const refused = download(hub, value, folder).models;
      await expect(refused).rejects.toThrow(
        /SHA-256 of .*m-00002-of-00002\.gguf is [0-9a-f]{64}, and .* was announced/,
      );
      expect(leftovers(folder)).toEqual([]);

      hub.linkedHash = right;
      const { models, warnings } = download(hub, value, folder);
      await models;
      expect(warnings).toEqual([]);
      const [record] = records(folder);
      expect(record?.files).toMatchObject([1, 2].map((part) => ({ sha256: right(split(part)), checked: true })));
    },
  );

  it("that a user puts behind an address must be the file's", async () => {
    const hub = await FakeHub.start();
    const folder = freshFolder();
    const file = fakeGguf(MB);
    hub.files.set("/m.gguf", file);
    const url = `${hub.endpoint}/storage/m.gguf`;
    const wrong = download(hub, `${url}#sha256=${"0".repeat(64)}`, folder).models;
    await expect(wrong).rejects.toThrow(/SHA-256 of .* is .*, and 0{64} was announced/);
    const { models, warnings } = download(hub, `${url}#sha256=${sha256(file)}`, folder);
    expect(readFileSync((await models)[0]!.path).equals(file)).toBe(true);
    expect(warnings).toEqual([]);
    expect(records(folder)).toMatchObject([{ uri: url, files: [{ checked: true }] }]);
    await expect(download(hub, `${url}#sha256=1`, folder).models).rejects.toThrow("64 hexadecimal digits");
  });

  it("that is not given is kept, and logged at the download and at each start", async () => {
    const hub = await FakeHub.start();
    const folder = freshFolder();
    const file = fakeGguf(MB);
    hub.files.set("/m.gguf", file);
    for (const _ of ["download", "start"]) {
      const { models, warnings } = download(hub, `${hub.endpoint}/storage/m.gguf`, folder);
      await models;
      const [[fields, message]] = warnings as [[object, string]];
      expect(message).toContain("No hash is known");
      expect(Object.values((fields as { sha256: object }).sha256)).toEqual([sha256(file)]);
    }
    expect(records(folder)).toMatchObject([{ files: [{ sha256: sha256(file), checked: false }] }]);
  });

  it("that is named after an unchecked download has the file fetched and checked again", async () => {
    const hub = await FakeHub.start();
    const folder = freshFolder();
    hub.files.set("/m.gguf", fakeGguf(MB, 1));
    const url = `${hub.endpoint}/storage/m.gguf`;
    await download(hub, url, folder).models;
    hub.files.set("/m.gguf", fakeGguf(MB, 2));
    const [model] = await download(hub, `${url}#sha256=${sha256(fakeGguf(MB, 2))}`, folder).models;
    expect(readFileSync(model!.path).equals(fakeGguf(MB, 2))).toBe(true);
  });
});

describe("a failed download", () => {
  it("says that there is no such file or quantization", async () => {
    const hub = await FakeHub.start();
    for (const value of ["hf:o/r/m.gguf", "hf:o/r:Q4_K_M", `${hub.endpoint}/m.gguf`]) {
      await expect(download(hub, value, freshFolder()).models).rejects.toThrow(/no such.*Check how it is spelled/);
    }
  });

  it("says that a token is needed, and a token opens it and goes to the hub alone", async () => {
    const hub = await FakeHub.start();
    const storage = await FakeHub.start();
    hub.token = "secret";
    const file = fakeGguf(MB);
    hub.files.set("/o/r/resolve/main/m.gguf", file);
    storage.files.set("/o/r/resolve/main/m.gguf", file);
    hub.storage = storage.endpoint;
    hub.manifests.set("/v2/o/r/manifests/Q8_0", "m.gguf");
    for (const value of ["hf:o/r/m.gguf", "hf:o/r:Q8_0"]) {
      const refused = download(hub, value, freshFolder(), { env: { HF_TOKEN: "wrong" } }).models;
      await expect(refused).rejects.toThrow("HF_TOKEN may not read it");
      const [model] = await download(hub, value, freshFolder(), { env: { HF_TOKEN: "secret" } }).models;
      expect(readFileSync(model!.path).equals(file)).toBe(true);
    }
    expect(storage.requests.filter(({ authorization }) => authorization !== null)).toEqual([]);
    await expect(download(hub, "hf:o/r/m.gguf", freshFolder()).models).rejects.toThrow("set HF_TOKEN");
  });

  it("says at once that the server cannot be reached, and what to look at", async () => {
    const hub = await FakeHub.start();
    hub.endpoint = "http://127.0.0.1:1";
    for (const value of ["http://127.0.0.1:1/m.gguf", "hf:o/r:Q4_K_M"]) {
      const { models } = download(hub, value, freshFolder());
      await expect(models).rejects.toThrow(/127\.0\.0\.1:1 cannot be reached .*network.*HTTPS_PROXY/);
    }
  });

  it("says that it is not there when the network may not be used", async () => {
    const hub = await FakeHub.start();
    const folder = freshFolder();
    const { models } = download(hub, "hf:o/r/m.gguf", folder, { offline: true });
    await expect(models).rejects.toThrow(`hf:o/r/m.gguf is not in ${folder}, and --offline on allows no download`);
    expect(hub.requests).toEqual([]);
  });
});

it("a download goes through the proxy that the environment names, but not to hosts of NO_PROXY", async () => {
  const hub = await FakeHub.start();
  const proxy = await FakeHub.startProxy();
  hub.files.set("/o/r/resolve/main/m.gguf", fakeGguf(MB));
  const env = { http_proxy: proxy.url };
  await download(hub, "hf:o/r/m.gguf", freshFolder(), { env }).models;
  expect(new Set(proxy.hosts)).toEqual(new Set([new URL(hub.endpoint).host]));
  const before = proxy.hosts.length;
  await download(hub, "hf:o/r/m.gguf", freshFolder(), { env: { ...env, no_proxy: "127.0.0.1" } }).models;
  expect(proxy.hosts).toHaveLength(before);
});
