import fs from "node:fs";
import { join } from "node:path";

/** What is replaced, in this order. Beside them lie downloads, which are kept, and `tmp`, which the next start empties. */
export const REPLACED = ["files", "parts", "nightshift.db"] as const;

/** A whole data directory, checked and synced, that waits for its place. It is there as a whole or not at all. */
export const STAGED = "restore";
/** In it: the name of the directory that what was there before goes to. */
export const ASIDE = "aside";
/** What is left of a staged directory once all is in its place: removing it takes more than one step. */
const DONE = `${STAGED}.done`;

/** The file system's calls, which a test cuts off one by one. */
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
 * Puts a staged restore into its place, and what was there beside it. Every step can be done again, so whoever opens the
 * data directory next completes what a crash has cut off. Only for who holds the lock. Returns where the old data is now;
 * null when nothing waited, or nothing was there before.
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
    // A log that is left beside another database would be taken for its own.
    const old = name === "nightshift.db" ? [`${name}-wal`, `${name}-shm`, name] : [name];
    for (const one of old) if (disk.existsSync(join(folder, one))) disk.renameSync(join(folder, one), join(aside, one));
    disk.renameSync(join(staged, name), join(folder, name));
  }
  for (const dir of [aside, folder]) syncDirectory(dir, disk);
  const nothingAside = removedIfEmpty(aside, disk);
  // From this rename on nothing waits any more; before it, everything that the steps above need is there.
  disk.renameSync(staged, done);
  syncDirectory(folder, disk);
  disk.rmSync(done, { recursive: true });
  return nothingAside ? null : aside;
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
