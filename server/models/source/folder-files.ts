import type { Dirent } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";

export interface Skipped {
  path: string;
  reason: string;
}

/** Files and folders that are looked at. */
const MOST_ENTRIES = 10_000;
/** Folders within folders: owner/repository/variant. */
const DEEPEST = 3;

/**
 * Paths of the GGUF files within the folder and its subfolders, with `/`. Hidden files and folders are left out. A missing
 * folder has none. @param skipped gets the folders that are not read
 */
export async function ggufPaths(folder: string, skipped: Skipped[]): Promise<string[]> {
  const paths: string[] = [];
  let entries = 0;
  const folders = [{ name: "", depth: 0 }];
  for (let next = folders.shift(); next !== undefined; next = folders.shift()) {
    const { name, depth } = next;
    for (const entry of await entriesOf(join(folder, name), depth, skipped)) {
      if (++entries > MOST_ENTRIES) {
        skipped.push({ path: folder, reason: `more than ${MOST_ENTRIES} files and folders are not looked at` });
        return paths;
      }
      const path = name === "" ? entry.name : `${name}/${entry.name}`;
      if (entry.name.startsWith(".")) continue;
      // Links to folders may lead back.
      if (entry.isDirectory() && depth < DEEPEST) folders.push({ name: path, depth: depth + 1 });
      else if (!entry.isDirectory() && /\.gguf$/i.test(entry.name)) paths.push(path);
    }
  }
  return paths;
}

async function entriesOf(path: string, depth: number, skipped: Skipped[]): Promise<Dirent[]> {
  try {
    return await readdir(path, { withFileTypes: true });
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    // Before the first download the folder is missing.
    if (code !== "ENOENT" || depth > 0) skipped.push({ path, reason: `the folder cannot be read (${code})` });
    return [];
  }
}
