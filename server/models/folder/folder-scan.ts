import type { Dirent } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { checkGgufFile, partsOf } from "../source/gguf-file.ts";
import { safeModelName } from "../source/model-name.ts";
import { shownName } from "../source/models-folder.ts";

/** A model in the folder. */
export interface FolderFile {
  /** The file name, in a subfolder with the path to it, without `.gguf`; of a download without the hash of its source. */
  name: string;
  /** The whole name, for a model whose name another one has. */
  longName: string;
  /** The file to load: of a split model the first part. */
  path: string;
  /** Changes with the file. */
  stamp: string;
}

export interface FolderScan {
  files: FolderFile[];
  /** Files that can't be served, and folders that can't be read. */
  skipped: { path: string; reason: string }[];
}

const MOST_MODELS = 256;
/** Files and folders that are looked at. */
const MOST_ENTRIES = 10_000;
/** Folders within folders: owner/repository/variant. */
const DEEPEST = 3;
/** The part of a multimodal model that reads images; it is no model by itself. */
const PROJECTOR = /mmproj/i;

/** The models in the folder and its subfolders, by path. A missing folder has none. */
export async function scanFolder(folder: string): Promise<FolderScan> {
  const skipped: FolderScan["skipped"] = [];
  const firsts = new Set<string>();
  for (const name of await ggufNames(folder, skipped)) firsts.add(partsOf(name)[0]!);
  const files: FolderFile[] = [];
  for (const name of [...firsts].sort()) {
    const path = join(folder, name);
    if (files.length === MOST_MODELS) {
      skipped.push({ path, reason: `at most ${MOST_MODELS} models of the folder are served` });
      continue;
    }
    try {
      await checkGgufFile(path);
      const { size, mtimeMs } = await stat(path);
      files.push({ name: nameOf(name), longName: longNameOf(name), path, stamp: `${size} ${mtimeMs}` });
    } catch (error) {
      skipped.push({ path, reason: error instanceof Error ? error.message : String(error) });
    }
  }
  return { files, skipped };
}

/** Paths of GGUF files within the folder, with `/`. */
async function ggufNames(folder: string, skipped: FolderScan["skipped"]): Promise<string[]> {
  const names: string[] = [];
  let entries = 0;
  const folders = [{ name: "", depth: 0 }];
  for (let next = folders.shift(); next !== undefined; next = folders.shift()) {
    const { name, depth } = next;
    for (const entry of await entriesOf(join(folder, name), depth, skipped)) {
      if (++entries > MOST_ENTRIES) {
        skipped.push({ path: folder, reason: `more than ${MOST_ENTRIES} files and folders are not looked at` });
        return names;
      }
      const path = name === "" ? entry.name : `${name}/${entry.name}`;
      if (entry.name.startsWith(".")) continue;
      // Links to folders may lead back.
      if (entry.isDirectory() && depth < DEEPEST) folders.push({ name: path, depth: depth + 1 });
      else if (!entry.isDirectory() && /\.gguf$/i.test(entry.name) && !PROJECTOR.test(entry.name)) names.push(path);
    }
  }
  return names;
}

async function entriesOf(path: string, depth: number, skipped: FolderScan["skipped"]): Promise<Dirent[]> {
  try {
    return await readdir(path, { withFileTypes: true });
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    // Before the first download the folder is missing.
    if (code !== "ENOENT" || depth > 0) skipped.push({ path, reason: `the folder cannot be read (${code})` });
    return [];
  }
}

function nameOf(name: string): string {
  return name.includes("/") ? longNameOf(name) : shownName(name);
}

function longNameOf(name: string): string {
  return safeModelName(name.replace(/\.gguf$/i, "").replace(/-\d{5}-of-\d{5}$/, ""));
}
