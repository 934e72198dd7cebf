import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { scanFolder } from "../../../../../server/models/folder/folder-scan.ts";
import { freshFolder } from "../source/downloading.ts";

function folderWith(...names: string[]): string {
  const folder = freshFolder();
  for (const name of names) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), name.includes("broken") ? "no model" : `GGUF ${name}`);
  }
  return folder;
}

async function namesIn(folder: string): Promise<string[]> {
  return (await scanFolder(folder)).files.map(({ name }) => name);
}

it("names models by their files, in subfolders with the path, without the hash of a download", async () => {
  const folder = folderWith("a.gguf", "o/r/b-Q8_0.GGUF", "0123456789ab-c.gguf", "with space.gguf", "d.txt");
  const { files } = await scanFolder(folder);
  expect(files.map(({ name, longName }) => [name, longName])).toEqual([
    ["c", "0123456789ab-c"],
    ["a", "a"],
    ["o/r/b-Q8_0", "o/r/b-Q8_0"],
    ["with-space", "with-space"],
  ]);
  expect(files[2]!.path).toBe(join(folder, "o/r/b-Q8_0.GGUF"));
});

it("counts a split model once, and names a missing part", async () => {
  const folder = folderWith("m-00001-of-00002.gguf", "m-00002-of-00002.gguf", "n-00002-of-00002.gguf");
  const { files, skipped } = await scanFolder(folder);
  expect(files.map(({ name, path }) => [name, path])).toEqual([["m", join(folder, "m-00001-of-00002.gguf")]]);
  expect(skipped).toMatchObject([{ path: join(folder, "n-00001-of-00002.gguf") }]);
});

it("leaves out projectors, hidden files, unfinished downloads and folders too deep", async () => {
  const folder = folderWith(
    "mmproj-a.gguf",
    "a-mmproj.gguf",
    ".b.gguf",
    "c.gguf.part",
    "1/2/3/d.gguf",
    "1/2/3/4/e.gguf",
  );
  expect(await namesIn(folder)).toEqual(["1/2/3/d"]);
});

it("names a file that is no model, and follows links to files alone", async () => {
  const folder = folderWith("broken.gguf", "real/a.gguf");
  symlinkSync(join(folder, "real/a.gguf"), join(folder, "link.gguf"));
  symlinkSync(folder, join(folder, "real/loop"));
  symlinkSync(join(folder, "nowhere"), join(folder, "dangling.gguf"));
  const { files, skipped } = await scanFolder(folder);
  expect(files.map(({ name }) => name)).toEqual(["link", "real/a"]);
  expect(skipped.map(({ path }) => path)).toEqual([join(folder, "broken.gguf"), join(folder, "dangling.gguf")]);
});

it("has no models in a missing folder, and 256 of any other", async () => {
  expect(await scanFolder(join(freshFolder(), "none"))).toEqual({ files: [], skipped: [] });
  const folder = folderWith(...Array.from({ length: 258 }, (_, i) => `m${1000 + i}.gguf`));
  const { files, skipped } = await scanFolder(folder);
  expect([files.length, skipped.length]).toEqual([256, 2]);
});
