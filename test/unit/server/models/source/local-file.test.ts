import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { type ResolvedModel, resolveModels } from "../../../../../server/models/source/resolve.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "nightshift-files-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function file(name: string, content = "GGUF and more"): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

function resolve(...values: string[]): Promise<ResolvedModel[]> {
  return resolveModels(values, {
    folder: join(folder, "downloads"),
    env: {},
    offline: false,
    log: { info: () => {}, warn: () => {} },
    onDownload: () => {
      throw new Error("Nothing is to be downloaded");
    },
  });
}

it("files are models under their own names or others, in order", async () => {
  const a = file("a.gguf");
  const b = file("b.gguf");
  expect(await resolve(`second=${b}`, a)).toEqual([
    { name: "second", path: b, adapters: [] },
    { name: "a", path: a, adapters: [] },
  ]);
});

it("two models of one name are refused, before anything else is looked at", async () => {
  await expect(resolve("x=hf:o/r", "x=missing.gguf")).rejects.toThrow("Two models are named 'x'");
});

it("the refusal of a missing file names a similar one, or the files there", async () => {
  file("qwen3-0.6b-q4.gguf");
  await expect(resolve(join(folder, "qwen3-0.6b-q8.gguf"))).rejects.toThrow(
    `Did you mean ${join(folder, "qwen3-0.6b-q4.gguf")}?`,
  );
  await expect(resolve(join(folder, "entirely-else.gguf"))).rejects.toThrow(`In ${folder} are: qwen3-0.6b-q4.gguf.`);
  await expect(resolve(join(folder, "no/m.gguf"))).rejects.toThrow("There is no folder");
  mkdirSync(join(folder, "empty"));
  await expect(resolve(join(folder, "empty/m.gguf"))).rejects.toThrow("No .gguf file is in its folder");
});

it("the refusal of a short name says what names a model", async () => {
  for (const name of ["llama3.2", "qwen2.5:7b"]) {
    await expect(resolve(name)).rejects.toThrow("A model is named by its file or by hf:owner/repo:Q4_K_M");
  }
});

it("the refusal of a repository without hf: has its right form", async () => {
  await expect(resolve("Qwen/Qwen3-0.6B-GGUF:Q4_K_M")).rejects.toThrow("write hf:Qwen/Qwen3-0.6B-GGUF:Q4_K_M");
});

it("a folder, an empty file, a pointer and another format are refused with their kind", async () => {
  file("m.gguf");
  await expect(resolve(folder)).rejects.toThrow(/is a folder, not a model. In .* are: m\.gguf\./);
  await expect(resolve(file("e.gguf", ""))).rejects.toThrow("is empty");
  await expect(resolve(file("p.gguf", "version https://git-lfs.github.com/spec/v1\n"))).rejects.toThrow("git lfs pull");
  await expect(resolve(file("t.gguf", "PK\u0003\u0004"))).rejects.toThrow('does not begin with "GGUF"');
});

it("any part of a split model stands for it, and all parts must be there", async () => {
  const first = file("m-00001-of-00002.gguf");
  await expect(resolve(first)).rejects.toThrow(`the part ${join(folder, "m-00002-of-00002.gguf")} is missing`);
  const second = file("m-00002-of-00002.gguf");
  expect(await resolve(second)).toEqual([{ name: "m", path: first, adapters: [] }]);
});
