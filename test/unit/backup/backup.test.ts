import {
  appendFileSync,
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { backUp } from "../../../backup/backup.ts";
import { restore } from "../../../backup/restore.ts";
import { ASIDE, STAGED } from "../../../store/thread/replacement.ts";
import { Snapshot } from "../../../store/thread/snapshot.ts";
import { bytesOf, openFileStores } from "../files/files-rig.ts";
import { freshFolder, openTestStore } from "../store/test-store.ts";

const NOW = new Date("2026-11-21T12:00:00Z");
const NO_LIMIT = { bytes: 1e9, error: () => new Error("never") as never };

type FileStores = Awaited<ReturnType<typeof openFileStores>>;

async function addFile({ files }: FileStores, text: string) {
  const incoming = await files.receive("local", bytesOf(text), NO_LIMIT);
  return files.add(incoming, { owner: "local", purpose: "user_data", filename: "a.txt", expiresAfter: null });
}

/** A backup of a data directory with two files and an upload of one part. */
async function backedUp() {
  const stores = await openFileStores();
  const kept = await addFile(stores, "kept");
  await addFile(stores, "another");
  const meta = { owner: "local", filename: "b.txt", purpose: "user_data", bytes: 4, mimeType: "text/plain" } as const;
  const upload = await stores.uploads.create({ ...meta, expiresAfter: null });
  const part = await stores.uploads.addPart(
    "local",
    upload.id,
    await stores.uploads.receivePart("local", bytesOf("part")),
  );
  const to = join(freshFolder(), "backup");
  const manifest = await backUp({ dataDir: stores.dataDir, to, version: "1.2.3", now: NOW });
  return { stores, kept, upload, part, to, manifest };
}

describe("a backup", () => {
  test("of a data directory in use is complete and private to the user", async () => {
    const { to, manifest, kept } = await backedUp();
    expect(manifest).toMatchObject({ format: 1, nightshift: "1.2.3", created_at: "2026-11-21T12:00:00.000Z" });
    expect(manifest).toMatchObject({ files: { count: 2, bytes: 11 }, parts: { count: 1, bytes: 4 }, missing: [] });
    expect(readFileSync(join(to, "files", kept.id), "utf8")).toBe("kept");
    expect(statSync(to).mode & 0o077).toBe(0);
    expect(statSync(join(to, "nightshift.db")).mode & 0o077).toBe(0);
    expect(readdirSync(to).sort()).toEqual(["backup.json", "files", "nightshift.db", "parts"]);
  });

  test("is consistent while files are added and removed", async () => {
    const stores = await openFileStores();
    const to = join(freshFolder(), "backup");
    const live: string[] = [];
    for (let i = 0; i < 20; i++) live.push((await addFile(stores, `early ${i}`)).id);
    let over = false;
    const traffic = (async () => {
      for (let i = 0; !over; i++) {
        live.push((await addFile(stores, `late ${i}`)).id);
        await stores.files.remove("local", live.shift()!);
      }
    })();
    for (let i = 0; i < 8; i++) {
      const manifest = await backUp({ dataDir: stores.dataDir, to: `${to}${i}`, version: "1", now: NOW });
      expect(manifest.missing).toEqual([]);
      const snapshot = Snapshot.open(`${to}${i}`);
      const rows = snapshot.files().map(({ id }) => id);
      snapshot.close();
      expect(readdirSync(join(`${to}${i}`, "files")).sort()).toEqual(rows);
      await restore({ from: `${to}${i}`, dataDir: freshFolder(), force: false, now: NOW });
    }
    over = true;
    await traffic;
  });

  test("lists rows with missing files and can be restored", async () => {
    const stores = await openFileStores();
    const lost = await addFile(stores, "lost");
    rmSync(stores.at("files", lost.id));
    const to = join(freshFolder(), "backup");
    const { missing } = await backUp({ dataDir: stores.dataDir, to, version: "1", now: NOW });
    expect(missing).toEqual([lost.id]);
    const dataDir = freshFolder();
    await restore({ from: to, dataDir, force: false, now: NOW });
    const after = await openFileStores({ dataDir });
    await expect(after.files.get("local", lost.id)).rejects.toMatchObject({ status: 404 });
  });

  test("lists damaged files and can be restored without them", async () => {
    const stores = await openFileStores();
    const [damaged, cut, kept] = [
      await addFile(stores, "damaged"),
      await addFile(stores, "cut"),
      await addFile(stores, "kept"),
    ];
    writeFileSync(stores.at("files", damaged.id), "dAmaged");
    writeFileSync(stores.at("files", cut.id), "cu");
    const to = join(freshFolder(), "backup");
    const manifest = await backUp({ dataDir: stores.dataDir, to, version: "1", now: NOW });
    expect([manifest.missing, manifest.damaged.sort()]).toEqual([[], [damaged.id, cut.id].sort()]);
    const dataDir = freshFolder();
    const { left } = await restore({ from: to, dataDir, force: false, now: NOW });
    expect(left.sort()).toEqual([damaged.id, cut.id].sort());
    const { files } = await openFileStores({ dataDir });
    expect(await files.check(await files.get("local", kept.id))).toBe(true);
    for (const { id } of [damaged, cut]) await expect(files.get("local", id)).rejects.toMatchObject({ status: 404 });
  });

  test("overwrites nothing, and leaves nothing behind when it fails", async () => {
    const { to, stores } = await backedUp();
    const again = backUp({ dataDir: stores.dataDir, to, version: "1", now: NOW });
    await expect(again).rejects.toThrow(/is not empty/);
    const empty = freshFolder();
    const elsewhere = join(freshFolder(), "backup");
    await expect(backUp({ dataDir: empty, to: elsewhere, version: "1", now: NOW })).rejects.toThrow(/no database/);
    expect(existsSync(elsewhere) || existsSync(`${elsewhere}.partial`)).toBe(false);
  });
});

describe("a restore", () => {
  test("restores files, and uploads that can be continued", async () => {
    const { to, kept, upload, part } = await backedUp();
    const dataDir = freshFolder();
    const { aside } = await restore({ from: to, dataDir, force: false, now: NOW });
    expect(aside).toBeNull();
    const { files, uploads } = await openFileStores({ dataDir });
    expect(await files.check(await files.get("local", kept.id))).toBe(true);
    const { file } = await uploads.complete("local", upload.id, [part.id], null);
    expect(readFileSync(files.pathOf(file!.id), "utf8")).toBe("part");
  });

  test("that was interrupted before its last step is completed by the next start", async () => {
    const { to, kept } = await backedUp();
    const dataDir = freshFolder();
    cpSync(to, join(dataDir, STAGED), { recursive: true });
    writeFileSync(join(dataDir, STAGED, ASIDE), "replaced-then");
    const { files } = await openFileStores({ dataDir });
    expect(await files.check(await files.get("local", kept.id))).toBe(true);
    expect(existsSync(join(dataDir, STAGED))).toBe(false);
  });

  test("is refused under a running server, and over data unless --force moves it aside", async () => {
    const { to, kept } = await backedUp();
    const dataDir = freshFolder();
    const store = await openTestStore(dataDir);
    await expect(restore({ from: to, dataDir, force: true, now: NOW })).rejects.toMatchObject({ code: "locked" });
    await store.close();
    await expect(restore({ from: to, dataDir, force: false, now: NOW })).rejects.toThrow(/holds data\. With --force/);
    const { aside } = await restore({ from: to, dataDir, force: true, now: NOW });
    expect(readdirSync(aside!)).toContain("nightshift.db");
    const { files } = await openFileStores({ dataDir });
    expect((await files.get("local", kept.id)).bytes).toBe(4);
  });

  test.each([
    // A new file, because a hard link shares its bytes with the live file.
    ["has other bytes in it", (path: string) => [rmSync(path), writeFileSync(path, "kepT")]],
    ["is missing from it", (path: string) => rmSync(path)],
  ])("leaves out and lists a file that %s after the backup", async (_what, spoil) => {
    const { to, kept, part } = await backedUp();
    spoil(join(to, "files", kept.id));
    const dataDir = freshFolder();
    const { left } = await restore({ from: to, dataDir, force: false, now: NOW });
    expect(left).toEqual([kept.id]);
    expect(readdirSync(join(dataDir, "files"))).toHaveLength(1);
    expect(readdirSync(join(dataDir, "parts"))).toEqual([part.id]);
  });

  test.each([
    [
      "the database was changed",
      (to: string) => {
        chmodSync(join(to, "nightshift.db"), 0o600);
        appendFileSync(join(to, "nightshift.db"), "x");
      },
      /damaged/,
    ],
    ["the manifest is cut off", (to: string) => writeFileSync(join(to, "backup.json"), "{"), /damaged/],
    ["there is no manifest", (to: string) => rmSync(join(to, "backup.json")), /is not a backup/],
  ])("is refused without a change when %s", async (_what, spoil, message) => {
    const { to } = await backedUp();
    spoil(to);
    const dataDir = freshFolder();
    mkdirSync(join(dataDir, "files"));
    writeFileSync(join(dataDir, "files", "mine"), "mine");
    await expect(restore({ from: to, dataDir, force: true, now: NOW })).rejects.toThrow(message);
    expect(readdirSync(dataDir).filter((name) => name !== "lock")).toEqual(["files"]);
    expect(readFileSync(join(dataDir, "files", "mine"), "utf8")).toBe("mine");
  });
});
