import fs from "node:fs";
import { join } from "node:path";

/** Replaced entries, in this order. Downloads beside them are kept, and the next start empties `tmp`. */
const REPLACED = ["files", "parts", "nightshift.db"] as const;

/** A complete data directory, checked and synced, that is staged for replacement. It exists complete or not at all. */
export const STAGED = "restore";
/** File in it with the name of the directory that receives the old data. */
export const ASIDE = "aside";
/** The staged directory after the replacement: its removal takes more than one step. */
const DONE = `${STAGED}.done`;

/** The file system calls; a test interrupts them one by one. */
export type ReplacementDisk = Pick<
  typeof fs,
  | "closeSync"
  | "existsSync"
  | "fsyncSync"
  | "mkdirSync"
  | "openSync"
  | "readFileSync"
  | "renameSync"
  | "rmdirSync"
  | "rmSync"
>;

/**
 * Moves a staged restore into place and the old data aside. Every step is idempotent, so the next process that opens
 * the data directory completes an interrupted replacement. The caller holds the lock. Returns the directory of the old
 * data; null when no restore was staged or there was no old data.
 */
export function completeReplacement(folder: string, disk: ReplacementDisk = fs): string | null {
  const staged = join(folder, STAGED);
  const done = join(folder, DONE);
  disk.rmSync(done, { recursive: true, force: true });
  if (!disk.existsSync(staged)) return null;
  const aside = join(folder, disk.readFileSync(join(staged, ASIDE), "utf8"));
  disk.mkdirSync(aside, { recursive: true, mode: 0o700 });
  for (const name of REPLACED) {
    if (!disk.existsSync(join(staged, name))) continue;
    // SQLite would apply a leftover log to the new database.
    const old = name === "nightshift.db" ? [`${name}-wal`, `${name}-shm`, name] : [name];
    for (const one of old) if (disk.existsSync(join(folder, one))) disk.renameSync(join(folder, one), join(aside, one));
    disk.renameSync(join(staged, name), join(folder, name));
  }
  for (const dir of [aside, folder]) syncDirectory(dir, disk);
  const noOldData = removedIfEmpty(aside, disk);
  // This rename ends the replacement; until then everything that the steps above need exists.
  disk.renameSync(staged, done);
  syncDirectory(folder, disk);
  disk.rmSync(done, { recursive: true });
  return noOldData ? null : aside;
}

function removedIfEmpty(dir: string, disk: ReplacementDisk): boolean {
  try {
    disk.rmdirSync(dir);
    return true;
  } catch {
    return false;
  }
}

function syncDirectory(dir: string, disk: ReplacementDisk): void {
  const handle = disk.openSync(dir, "r");
  try {
    disk.fsyncSync(handle);
  } finally {
    disk.closeSync(handle);
  }
}
