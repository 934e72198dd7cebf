import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { sync } from "../files/fsync.ts";
import { takeLock } from "../store/thread/lock.ts";
import { ASIDE, completeReplacement, STAGED } from "../store/thread/replacement.ts";
import { Snapshot, type StoredBytes } from "../store/thread/snapshot.ts";
import { BackupError } from "./backup-error.ts";
import { copyDurably, isIntact } from "./durable-copy.ts";
import { type BackupManifest, backupManifest, KINDS, MANIFEST } from "./manifest.ts";

export interface RestoreRequest {
  /** A directory that `backUp` wrote. */
  from: string;
  dataDir: string;
  /** True to replace existing data, which is moved aside, not deleted. */
  force: boolean;
  now: Date;
}

export interface Restored {
  manifest: BackupManifest;
  /**
   * Ids of files and parts whose bytes are lost from the backup; those listed in the manifest's `missing` are not
   * included.
   */
  left: string[];
  /** Directory of the replaced data; null when there was none. */
  aside: string | null;
}

/**
 * Restores a backup into a data directory that no server uses. Everything is copied beside the existing data, verified
 * and synced before the first file is moved; from then on this call or the next start completes the restore. Files and
 * parts that are damaged or missing in the backup are left out, so that the rest is not lost with them. Throws
 * StoreError "locked" while a server runs, and BackupError for a backup with a damaged manifest or database.
 */
export async function restore({ from, dataDir, force, now }: RestoreRequest): Promise<Restored> {
  const source = resolve(from);
  const folder = resolve(dataDir);
  const manifest = await readManifest(source);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const lock = takeLock(folder);
  try {
    completeReplacement(folder);
    if (!force && (await holdsData(folder))) {
      throw new BackupError(
        `${folder} holds data. With --force it is moved aside, into a directory beside the restored data.`,
      );
    }
    const work = join(folder, `${STAGED}.partial`);
    await rm(work, { recursive: true, force: true });
    let left: string[];
    try {
      left = await stage(source, work, manifest);
      await writeFile(join(work, ASIDE), `replaced-${now.toISOString().replaceAll(":", "-")}`, { flush: true });
      await sync(work);
    } catch (error) {
      await rm(work, { recursive: true, force: true });
      throw error;
    }
    await rename(work, join(folder, STAGED));
    await sync(folder);
    return { manifest, left, aside: completeReplacement(folder) };
  } finally {
    lock.release();
  }
}

async function readManifest(source: string): Promise<BackupManifest> {
  let text: string;
  try {
    text = await readFile(join(source, MANIFEST), "utf8");
  } catch {
    throw new BackupError(`${source} is not a backup: it has no ${MANIFEST}.`);
  }
  const parsed = backupManifest.safeParse(parsedJson(text));
  if (!parsed.success)
    throw new BackupError(`${join(source, MANIFEST)} is damaged, or was written by another version of Nightshift.`);
  return parsed.data;
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

async function holdsData(folder: string): Promise<boolean> {
  if (existsSync(join(folder, "nightshift.db"))) return true;
  for (const [kind] of KINDS) {
    const names = await readdir(join(folder, kind)).catch(() => []);
    if (names.length > 0) return true;
  }
  return false;
}

/**
 * Copies the backup and verifies every byte of the copy against the manifest and its rows. Returns the ids that were
 * left out.
 */
async function stage(source: string, work: string, manifest: BackupManifest): Promise<string[]> {
  await mkdir(work, { mode: 0o700 });
  const database = join(work, "nightshift.db");
  const wanted = { ...manifest.database, hash: manifest.database.sha256 };
  if (!(await copied(join(source, "nightshift.db"), database, wanted, "sha256"))) {
    throw new BackupError(`The backup is damaged: ${join(source, "nightshift.db")} does not match the manifest.`);
  }
  const left: string[] = [];
  const snapshot = Snapshot.open(work);
  try {
    const missing = new Set(manifest.missing);
    for (const [kind, algorithm] of KINDS) {
      await mkdir(join(work, kind), { mode: 0o700 });
      for (const row of snapshot[kind]()) {
        if (missing.has(row.id)) continue;
        if (!(await copied(join(source, kind, row.id), join(work, kind, row.id), row, algorithm))) left.push(row.id);
      }
      await sync(join(work, kind));
    }
  } finally {
    snapshot.close();
  }
  for (const suffix of ["-wal", "-shm"]) await rm(database + suffix, { force: true });
  return left;
}

/** False, with the copy removed, when its bytes are not the expected ones. */
async function copied(
  from: string,
  to: string,
  wanted: Omit<StoredBytes, "id">,
  algorithm: "sha256" | "md5",
): Promise<boolean> {
  if ((await copyDurably(from, to)) && (await isIntact(to, wanted, algorithm))) return true;
  await rm(to, { force: true });
  return false;
}
