import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
} from "node:fs";
import { join } from "node:path";

/** What is replaced, in this order. Beside them lie downloads, which are kept, and `tmp`, which the next start empties. */
export const REPLACED = ["files", "parts", "nightshift.db"] as const;

/** A whole data directory, checked and synced, that waits for its place. It is there as a whole or not at all. */
export const STAGED = "restore";
/** In it: the name of the directory that what was there before goes to. */
export const ASIDE = "aside";

/**
 * Puts a staged restore into its place, and what was there beside it. Every step is a rename that can be done again, so
 * whoever opens the data directory next completes what a crash has cut off. Only for who holds the lock. Returns where
 * the old data is now; null when nothing waited, or nothing was there before.
 */
export function completeReplacement(folder: string, rename: typeof renameSync = renameSync): string | null {
  const staged = join(folder, STAGED);
  if (!existsSync(staged)) return null;
  const aside = join(folder, readFileSync(join(staged, ASIDE), "utf8"));
  mkdirSync(aside, { recursive: true, mode: 0o700 });
  for (const name of REPLACED) {
    if (!existsSync(join(staged, name))) continue;
    // A log that is left beside another database would be taken for its own.
    const old = name === "nightshift.db" ? [`${name}-wal`, `${name}-shm`, name] : [name];
    for (const one of old) if (existsSync(join(folder, one))) rename(join(folder, one), join(aside, one));
    rename(join(staged, name), join(folder, name));
  }
  for (const dir of [aside, folder]) syncDirectory(dir);
  rmSync(staged, { recursive: true });
  return removedIfEmpty(aside) ? null : aside;
}

function removedIfEmpty(dir: string): boolean {
  try {
    rmdirSync(dir);
    return true;
  } catch {
    return false;
  }
}

function syncDirectory(dir: string): void {
  const handle = openSync(dir, "r");
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
