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
  /** A directory that is not there yet, or is empty. */
  to: string;
  /** Of Nightshift. */
  version: string;
  now: Date;
}

/**
 * Writes the database and all bytes that its rows stand for to a directory, while a server may use them. Files never
 * change, they only come and go; so they are linked or copied twice: once before the snapshot of the database, for those
 * that go after it, and once for those that came between. What the snapshot does not know is removed again. Then all
 * bytes are read: those that are not what their row says are named in the manifest. The directory gets its name when it is
 * whole. Throws StoreError, or BackupError for a destination that can't be used.
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
    for (const [kind] of KINDS) await takeAll(join(folder, kind), join(work, kind));
    const snapshot = Snapshot.open(folder);
    const rows = { files: snapshot.files(), parts: snapshot.parts() };
    const { schema } = snapshot;
    try {
      for (const [kind] of KINDS) await agree(rows[kind], join(folder, kind), join(work, kind));
      await snapshot.copyTo(join(work, "nightshift.db"));
    } finally {
      snapshot.close();
    }
    // Only now: the server's write-ahead log grows while the snapshot is open, and reading everything takes long.
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
    throw new BackupError(`${target} can't be used for a backup: ${(error as Error).message}`);
  }
  throw new BackupError(`${target} is not empty. Name a directory that is not there yet.`);
}

async function takeAll(from: string, to: string): Promise<void> {
  let names: string[];
  try {
    names = await readdir(from);
  } catch (error) {
    // A directory of the first start's earliest moment has none.
    if (codeOf(error) === "ENOENT") return;
    throw error;
  }
  for (const name of names) await linkOrCopy(join(from, name), join(to, name));
}

/** Makes a directory hold what the rows say, as far as it is anywhere, and nothing else. */
async function agree(rows: readonly StoredBytes[], from: string, to: string): Promise<void> {
  const extra = new Set(await readdir(to));
  for (const { id } of rows) if (!extra.delete(id)) await linkOrCopy(join(from, id), join(to, id));
  for (const name of extra) await rm(join(to, name));
}

function sum(rows: readonly StoredBytes[]): { count: number; bytes: number } {
  return { count: rows.length, bytes: rows.reduce((bytes, row) => bytes + row.bytes, 0) };
}

/** A backup of what is damaged would be found out too late. */
async function checkedDatabase(work: string): Promise<BackupManifest["database"]> {
  const path = join(work, "nightshift.db");
  const copy = Snapshot.open(work);
  const fault = copy.fault();
  copy.close();
  // A reader of a database in WAL mode makes them, and cannot always remove them.
  for (const suffix of ["-wal", "-shm"]) await rm(path + suffix, { force: true });
  if (fault !== "ok") throw new StoreError("corrupt", `The database is damaged: ${fault}. There is no backup of it.`);
  await chmod(path, 0o600);
  await sync(path);
  return { bytes: (await stat(path)).size, sha256: await hashOf(path, "sha256") };
}
