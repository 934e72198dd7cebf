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
  /** What `backUp` wrote. */
  from: string;
  dataDir: string;
  /** Also where a database or files are. They are moved aside, not deleted. */
  force: boolean;
  now: Date;
}

export interface Restored {
  manifest: BackupManifest;
  /** Ids of files and parts whose bytes the backup does not have (any more); those that are `missing` there are not among them. */
  left: string[];
  /** Where the data is that was there before; null when there was none. */
  aside: string | null;
}

/**
 * Puts a backup into a data directory that no server uses. Everything is copied beside what is there, checked and synced
 * before the first file of it is moved; from then on either this call or the next start completes it. Files and parts that
 * are damaged in the backup, or missing, are left out: all else would be lost with them. Throws StoreError "locked" while a
 * server runs, and BackupError for a backup whose manifest or database is damaged.
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
    throw new BackupError(`${source} is no backup: it has no ${MANIFEST}.`);
  }
  const parsed = backupManifest.safeParse(parsedJson(text));
  if (!parsed.success)
    throw new BackupError(`${join(source, MANIFEST)} is damaged, or of another version of Nightshift.`);
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

/** Copies the backup and holds every byte of the copy against the manifest and its rows. Returns the ids that it left out. */
async function stage(source: string, work: string, manifest: BackupManifest): Promise<string[]> {
  await mkdir(work, { mode: 0o700 });
  const database = join(work, "nightshift.db");
  const wanted = { ...manifest.database, hash: manifest.database.sha256 };
  if (!(await copied(join(source, "nightshift.db"), database, wanted, "sha256"))) {
    throw new BackupError(`The backup is damaged: ${join(source, "nightshift.db")} is not what was backed up.`);
  }
  const left: string[] = [];
  const snapshot = Snapshot.open(work);
  try {
    const gone = new Set(manifest.missing);
    for (const [kind, algorithm] of KINDS) {
      await mkdir(join(work, kind), { mode: 0o700 });
      for (const row of snapshot[kind]()) {
        if (gone.has(row.id)) continue;
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

/** False, and nothing is there, when the bytes are not what they should be. */
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
