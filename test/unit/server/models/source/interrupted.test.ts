import { readFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it, onTestFinished } from "vitest";
import { HttpClient } from "../../../../../server/models/source/http-client.ts";
import { PartialFile } from "../../../../../server/models/source/partial-file.ts";
import { TRANSFER_RULES, transfer } from "../../../../../server/models/source/transfer.ts";
import { download, freshFolder, leftovers, MB, pieceSaved } from "./downloading.ts";
import { etagOf, FakeHub, fakeGguf } from "./fake-hub.ts";

const PATH = "/o/r/resolve/main/m.gguf";

/** Runs until one piece is on the disk, and is stopped there. */
async function stopAfterOnePiece(hub: FakeHub, folder: string): Promise<void> {
  hub.intercept = (range) => !range?.startsWith("bytes=0-");
  const stop = new AbortController();
  const { models } = download(hub, "hf:o/r/m.gguf", folder, { signal: stop.signal });
  const stopped = expect(models).rejects.toThrow("enough");
  await pieceSaved(folder);
  stop.abort(new Error("enough"));
  await stopped;
  hub.intercept = () => false;
}

const pieces = (hub: FakeHub) => hub.ranges().filter((range) => range.startsWith("bytes=0-"));

describe("a download that was stopped", () => {
  it("continues where it stopped, on the condition that the file is the same", async () => {
    const hub = await FakeHub.start();
    const folder = freshFolder();
    const file = fakeGguf(12 * MB);
    hub.files.set(PATH, file);
    await stopAfterOnePiece(hub, folder);
    const before = hub.requests.length;
    const second = download(hub, "hf:o/r/m.gguf", folder);
    const [model] = await second.models;
    expect(readFileSync(model!.path).equals(file)).toBe(true);
    expect(pieces(hub)).toHaveLength(1);
    expect(second.progress[0]).toEqual([2 * MB, 12 * MB]);
    const later = hub.requests.slice(before).filter(({ range }) => range !== null && range !== "bytes=0-0");
    expect(later.length).toBeGreaterThan(0);
    expect(later.every(({ condition }) => condition !== null)).toBe(true);
  });

  it("begins anew when the file changed in between, at the same size", async () => {
    const hub = await FakeHub.start();
    const folder = freshFolder();
    hub.files.set(PATH, fakeGguf(12 * MB, 1));
    await stopAfterOnePiece(hub, folder);
    hub.files.set(PATH, fakeGguf(12 * MB, 2));
    const [model] = await download(hub, "hf:o/r/m.gguf", folder).models;
    expect(readFileSync(model!.path).equals(fakeGguf(12 * MB, 2))).toBe(true);
  });

  it("begins anew where the server sends nothing that identifies the content", async () => {
    const hub = await FakeHub.start();
    hub.etags = false;
    const folder = freshFolder();
    hub.files.set(PATH, fakeGguf(12 * MB, 1));
    await stopAfterOnePiece(hub, folder);
    hub.files.set(PATH, fakeGguf(12 * MB, 2));
    const [model] = await download(hub, "hf:o/r/m.gguf", folder).models;
    expect(readFileSync(model!.path).equals(fakeGguf(12 * MB, 2))).toBe(true);
  });
});

it("a transfer whose signal was aborted before asks for nothing", async () => {
  const hub = await FakeHub.start();
  hub.files.set(PATH, fakeGguf(MB));
  const announced = { bytes: MB, sha256: null, validator: null, ranges: true };
  const file = await PartialFile.open(join(freshFolder(), "m.gguf"), announced, MB);
  onTestFinished(() => file.close());
  const web = new HttpClient({ hub: { endpoint: hub.endpoint, token: null }, env: {} });
  onTestFinished(() => web.close());
  const deps = { web, rules: TRANSFER_RULES, pace: null, received: () => {}, failed: () => {} };
  const stopped = AbortSignal.abort(new Error("enough"));
  await expect(transfer(`${hub.endpoint}${PATH}`, file, announced, deps, stopped)).rejects.toThrow("enough");
  expect(hub.requests).toEqual([]);
});

describe("a download that continues", () => {
  it("begins anew when the file changes at the server", async () => {
    const hub = await FakeHub.start();
    hub.files.set(PATH, fakeGguf(12 * MB, 1));
    let changed = false;
    hub.intercept = () => {
      if (!changed) hub.files.set(PATH, fakeGguf(12 * MB, 2));
      changed = true;
      return false;
    };
    const { models, warnings } = download(hub, "hf:o/r/m.gguf", freshFolder());
    const [model] = await models;
    expect(readFileSync(model!.path).equals(fakeGguf(12 * MB, 2))).toBe(true);
    expect(warnings.map(([, message]) => message)).toContainEqual(expect.stringContaining("changed at its server"));
  });

  it("survives a connection that breaks", async () => {
    const hub = await FakeHub.start();
    const file = fakeGguf(7 * MB);
    hub.files.set(PATH, file);
    let breaks = 2;
    hub.intercept = (range, response) => {
      if (breaks === 0) return false;
      breaks -= 1;
      cut(file, range, response);
      return true;
    };
    const { models, warnings } = download(hub, "hf:o/r/m.gguf", freshFolder());
    const [model] = await models;
    expect(breaks).toBe(0);
    expect(readFileSync(model!.path).equals(file)).toBe(true);
    expect(warnings.filter(([, message]) => message.startsWith("A try to download failed"))).toHaveLength(2);
  });

  it("asks the hub for a new address when the storage closes the one it gave", async () => {
    const hub = await FakeHub.start();
    const file = fakeGguf(12 * MB);
    hub.files.set(PATH, file);
    const folder = freshFolder();
    const held: ServerResponse[] = [];
    let open = false;
    hub.intercept = (range, response) => {
      if (open || range?.startsWith("bytes=0-")) return false;
      held.push(response);
      return true;
    };
    const { models } = download(hub, "hf:o/r/m.gguf", folder);
    await pieceSaved(folder);
    open = true;
    for (const response of held) response.writeHead(403).end();
    const [model] = await models;
    expect(pieces(hub)).toHaveLength(1);
    expect(readFileSync(model!.path).equals(file)).toBe(true);
  });
});

/** Answers as asked, and closes the connection after 1,000 bytes. */
function cut(file: Buffer, range: string | null, response: ServerResponse): void {
  const [, from = "", to = ""] = /^bytes=(\d+)-(\d+)$/.exec(range ?? "")!;
  response.writeHead(206, {
    etag: etagOf(file),
    "content-range": `bytes ${from}-${to}/${file.length}`,
    "content-length": Number(to) - Number(from) + 1,
  });
  response.write(file.subarray(Number(from), Number(from) + 1000));
  setImmediate(() => response.destroy());
}

describe("a server that fails", () => {
  it.each<[string, (file: Buffer, range: string | null, response: ServerResponse) => void, RegExp]>([
    ["with 500", (_, __, response) => response.writeHead(500).end(), /stopped: .* answers with status 500\./],
    ["with 404 behind its redirect", (_, __, response) => response.writeHead(404).end(), /stopped: .* status 404\./],
    ["by cutting every body", cut, /stopped: the connection (broke|was closed early)/],
  ])("%s ends the download after bounded tries, each logged, and what has come is kept", async (_, fail, reason) => {
    const hub = await FakeHub.start();
    const folder = freshFolder();
    const file = fakeGguf(12 * MB);
    hub.files.set(PATH, file);
    hub.intercept = (range, response) => {
      if (range?.startsWith("bytes=0-")) return false;
      fail(file, range, response);
      return true;
    };
    const { models, warnings, ended } = download(hub, "hf:o/r/m.gguf", folder);
    await expect(models).rejects.toThrow(reason);
    expect(ended()).toBe(1);
    // Four connections, three tries each; a connection that is stopped by another's end has made fewer.
    expect(hub.ranges().length).toBeLessThanOrEqual(1 + 4 * 3);
    expect(warnings.length).toBeGreaterThanOrEqual(2);
    expect(leftovers(folder)).toContainEqual(expect.stringMatching(/m\.gguf\.part$/));
  });

  it.each<[string, (endpoint: string) => string, RegExp]>([
    ["in a circle", (endpoint) => `${endpoint}/loop`, /redirects more than 10 times/],
    ["to a file", () => "file:///etc/passwd", /redirects from http:\/\/ to file:\/\/, which is not followed/],
    ["to nowhere", () => "http://", /redirects to nowhere/],
  ])("by a redirect %s ends the download at once", async (_, location, reason) => {
    const hub = await FakeHub.start();
    hub.redirects.set("/loop", location(hub.endpoint));
    hub.redirects.set("/m.gguf", location(hub.endpoint));
    await expect(download(hub, `${hub.endpoint}/m.gguf`, freshFolder()).models).rejects.toThrow(reason);
    expect(hub.requests.length).toBeLessThanOrEqual(11);
  });

  it("with 500 from the start is reported at once", async () => {
    const hub = await FakeHub.start();
    hub.broken = true;
    for (const value of ["hf:o/r:Q4_K_M", "hf:o/r/m.gguf", `${hub.endpoint}/m.gguf`]) {
      await expect(download(hub, value, freshFolder()).models).rejects.toThrow(/answers with status 500/);
    }
  });

  it("by saying nothing ends the download also while garbage is collected", async () => {
    const hub = await FakeHub.start();
    hub.silent = true;
    setFlagsFromString("--expose-gc");
    const collect: () => void = runInNewContext("gc");
    const collecting = setInterval(collect, 20);
    const timeouts = { answerMs: 300, silenceMs: 300 };
    const { models } = download(hub, "hf:o/r/m.gguf", freshFolder(), { timeouts });
    await expect(models).rejects.toThrow("does not answer");
    clearInterval(collecting);
  });

  it("by silence within a body is retried", async () => {
    const hub = await FakeHub.start();
    const file = fakeGguf(MB);
    hub.files.set(PATH, file);
    let silences = 1;
    hub.intercept = (_, response) => {
      if (silences-- <= 0) return false;
      response.writeHead(206, { etag: etagOf(file), "content-range": `bytes 0-${MB - 1}/${MB}`, "content-length": MB });
      response.write(file.subarray(0, 1000));
      return true;
    };
    const timeouts = { answerMs: 20_000, silenceMs: 300 };
    // On a busy machine other tries may take as long as a silence.
    const rules = { ...TRANSFER_RULES, firstPauseMs: 1, tries: 1000 };
    const { models } = download(hub, "hf:o/r/m.gguf", freshFolder(), { timeouts, rules });
    const [model] = await models;
    expect(silences).toBeLessThan(0);
    expect(readFileSync(model!.path).equals(file)).toBe(true);
  });
});
