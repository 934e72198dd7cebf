import { stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { ggufPaths, type Skipped } from "../source/folder-files.ts";
import { checkGgufFile, partsOf } from "../source/gguf-file.ts";
import { nameOfPath } from "../source/model-name.ts";
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
  skipped: Skipped[];
}

const MOST_MODELS = 256;
/** The part of a multimodal model that reads images; it is no model by itself. */
const PROJECTOR = /mmproj/i;

/** The models in the folder and its subfolders, by path. A missing folder has none. */
export async function scanFolder(folder: string): Promise<FolderScan> {
  const skipped: Skipped[] = [];
  const firsts = new Set<string>();
  for (const path of await ggufPaths(folder, skipped)) {
    if (!PROJECTOR.test(basename(path))) firsts.add(partsOf(path)[0]!);
  }
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
      files.push({ name: shownName(name), longName: nameOfPath(name), path, stamp: `${size} ${mtimeMs}` });
    } catch (error) {
      skipped.push({ path, reason: error instanceof Error ? error.message : String(error) });
    }
  }
  return { files, skipped };
}
