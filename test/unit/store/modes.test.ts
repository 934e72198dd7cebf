import { chmodSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { bytesOf, openFileStores } from "../files/files-rig.ts";
import { freshFolder } from "./test-store.ts";

/** Modes of the folder and its entries that others can access; empty when all are private. */
function open(folder: string): string[] {
  const all = [".", ...readdirSync(folder, { recursive: true, encoding: "utf8" })];
  return all
    .map((name) => `${name} ${(statSync(join(folder, name)).mode & 0o777).toString(8)}`)
    .filter((entry) => !entry.endsWith("00"));
}

beforeEach(() => {
  const umask = process.umask(0o022);
  onTestFinished(() => void process.umask(umask));
});

async function fill(dataDir: string) {
  const stores = await openFileStores({ dataDir });
  const limit = { bytes: 9, error: () => new Error("too large") as never };
  const meta = { owner: "local", purpose: "user_data", filename: "x", expiresAfter: null } as const;
  await stores.files.add(await stores.files.receive("local", bytesOf("secret"), limit), meta);
  const upload = await stores.uploads.create({ ...meta, bytes: 6, mimeType: "text/plain" });
  await stores.uploads.addPart("local", upload.id, await stores.uploads.receivePart("local", bytesOf("secret")));
}

test("stored files are private to the user under any umask", async () => {
  const dataDir = join(freshFolder(), "data");
  await fill(dataDir);
  const made = ["files", "lock", "nightshift.db", "nightshift.db-shm", "nightshift.db-wal", "parts", "tmp"];
  expect(readdirSync(dataDir)).toEqual(expect.arrayContaining(made));
  expect(open(dataDir)).toEqual([]);
});

test("an existing directory keeps its mode", async () => {
  const dataDir = freshFolder();
  chmodSync(dataDir, 0o755);
  mkdirSync(join(dataDir, "files"), { mode: 0o750 });
  await fill(dataDir);
  expect(open(dataDir)).toEqual([". 755", "files 750"]);
});
