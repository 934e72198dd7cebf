import { existsSync } from "node:fs";
import { chmod, mkdir, readdir, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { sync } from "../files/fsync.ts";
import { Snapshot, type StoredBytes } from "../store/thread/snapshot.ts";
import { StoreError } from "../store/types/store-error.ts";
import { BackupError } from "./backup-error.ts";
import { codeOf, hashOf, isIntact, linkOrCopy } from "./durable-copy.ts";
import { type BackupManifest, KINDS, MANIFEST } from "./manifest.ts";

export interface BackupRequest {
  dataDir: string;
  /** An empty directory, or one that does not exist. */
  to: string;
  /** Version of Nightshift. */
  version: string;
  now: Date;
}

/**
 * Writes the database and all files of its rows to a directory, while a server may use them. Files are immutable; they
 * are only added and removed. They are therefore linked or copied twice: once before the database snapshot, for files
 * removed after it, and once after it, for files added in between. Files without a row in the snapshot are removed
 * again. All bytes are then verified, and the manifest lists those that differ from their row. The directory gets its
 * final name when it is complete. Throws StoreError, or BackupError for an unusable destination.
 */
export async function backUp({ dataDir, to, version, now }: BackupRequest): Promise<BackupManifest> {
  const folder = resolve(dataDir);
  const target = resolve(to);
  await requireAbsent(target);
  await mkdir(dirname(target), { recursive: true });
  const work = `${target}.partial`;
  await rm(work, { recursive: true, force: true });
  await mkdir(work, { mode: 0o700 });
  try {
    for (const [kind] of KINDS) await mkdir(join(work, kind), { mode: 0o700 });
    for (const [kind] of KINDS) await linkAll(join(folder, kind), join(work, kind));
    const snapshot = Snapshot.open(folder);
    const rows = { files: snapshot.files(), parts: snapshot.parts() };
    const { schema } = snapshot;
    try {
      for (const [kind] of KINDS) await matchRows(rows[kind], join(folder, kind), join(work, kind));
      await snapshot.copyTo(join(work, "nightshift.db"));
    } finally {
      snapshot.close();
    }
    // After the snapshot is closed: the server's write-ahead log grows while it is open, and reading everything takes
    // long.
    const faults = { missing: [] as string[], damaged: [] as string[] };
    for (const [kind, algorithm] of KINDS) {
      for (const row of rows[kind]) {
        const copy = join(work, kind, row.id);
        if (await isIntact(copy, row, algorithm)) continue;
        const there = existsSync(copy) || existsSync(join(folder, kind, row.id));
        faults[there ? "damaged" : "missing"].push(row.id);
      }
    }
    const manifest: BackupManifest = {
      format: 1,
      nightshift: version,
      created_at: now.toISOString(),
      database: await checkedDatabase(work),
      schema,
      files: sum(rows.files),
      parts: sum(rows.parts),
      ...faults,
    };
    await writeFile(join(work, MANIFEST), `${JSON.stringify(manifest, null, 2)}\n`, { mode: 0o600, flush: true });
    for (const dir of [...KINDS.map(([kind]) => join(work, kind)), work]) await sync(dir);
    await rename(work, target);
    await sync(dirname(target));
    return manifest;
  } catch (error) {
    await rm(work, { recursive: true, force: true });
    throw error;
  }
}

async function requireAbsent(target: string): Promise<void> {
  try {
    if ((await readdir(target)).length === 0) return;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return;
    throw new BackupError(`${target} cannot be used for a backup: ${(error as Error).message}`);
  }
  throw new BackupError(`${target} is not empty. Choose a directory that does not exist yet.`);
}

async function linkAll(from: string, to: string): Promise<void> {
  let names: string[];
  try {
    names = await readdir(from);
  } catch (error) {
    // The directory does not exist yet early in the first start.
    if (codeOf(error) === "ENOENT") return;
    throw error;
  }
  for (const name of names) await linkOrCopy(join(from, name), join(to, name));
}

/** Makes a directory contain the files of the rows, as far as they exist, and no others. */
async function matchRows(rows: readonly StoredBytes[], from: string, to: string): Promise<void> {
  const extra = new Set(await readdir(to));
  for (const { id } of rows) if (!extra.delete(id)) await linkOrCopy(join(from, id), join(to, id));
  for (const name of extra) await rm(join(to, name));
}

function sum(rows: readonly StoredBytes[]): { count: number; bytes: number } {
  return { count: rows.length, bytes: rows.reduce((bytes, row) => bytes + row.bytes, 0) };
}

/** Verifies the copied database: a damaged backup would be noticed too late. */
async function checkedDatabase(work: string): Promise<BackupManifest["database"]> {
  const path = join(work, "nightshift.db");
  const copy = Snapshot.open(work);
  const fault = copy.fault();
  copy.close();
  // A reader of a database in WAL mode creates these files and cannot always remove them.
  for (const suffix of ["-wal", "-shm"]) await rm(path + suffix, { force: true });
  if (fault !== "ok") throw new StoreError("corrupt", `The database is damaged: ${fault}. No backup was made.`);
  await chmod(path, 0o600);
  await sync(path);
  return { bytes: (await stat(path)).size, sha256: await hashOf(path, "sha256") };
}
