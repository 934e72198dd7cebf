import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { OptionsError } from "../../../platform/options-error.ts";
import { readRecords, removeRecord } from "./download-record.ts";
import { ggufPaths } from "./folder-files.ts";
import { partsOf } from "./gguf-file.ts";
import { nameOfPath } from "./model-name.ts";
import { bytesReceived, removePartial } from "./partial-file.ts";

/** A model in the folder of downloads. */
export interface StoredModel {
  name: string;
  /** The file to load, in a subfolder with the path to it: of a split model, the first part. */
  entry: string;
  files: string[];
  bytes: number;
  /** The source of the download; null for files that were put there otherwise, and for downloads that have not ended. */
  uri: string | null;
  /** True where every file has the SHA-256 that the hub or the user named. */
  checked: boolean;
  /** Bytes that a download that has not ended has received; null for a whole model. */
  received: number | null;
}

const PARTIAL = ".part";

export function modelsFolder({ modelsDir, dataDir }: { modelsDir: string | null; dataDir: string }): string {
  return modelsDir ?? join(dataDir, "models");
}

/** The models in the folder by name: downloads, other GGUF files, those in subfolders too, and downloads that have not ended. */
export async function storedModels(folder: string): Promise<StoredModel[]> {
  const names: string[] = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw new OptionsError(`${folder} cannot be read (${error.code}).`);
  });
  const models: StoredModel[] = [];
  for (const { uri, entry, files } of names.length === 0 ? [] : await readRecords(folder)) {
    const bytes = files.reduce((sum, { size }) => sum + size, 0);
    const checked = files.every((file) => file.checked);
    const own = files.map(({ name }) => name);
    models.push({ name: shownName(entry), entry, files: own, bytes, uri, checked, received: null });
  }
  const recorded = new Set(models.flatMap(({ files }) => files));
  const within = names.length === 0 ? [] : (await ggufPaths(folder, [])).filter((path) => path.includes("/"));
  const present = new Set([...names.filter((name) => /\.gguf$/i.test(name)), ...within]);
  for (const entry of present) {
    const files = partsOf(entry);
    if (recorded.has(entry) || files[0] !== entry) continue;
    const there = files.filter((file) => present.has(file));
    models.push(await unrecorded(folder, entry, there, null));
  }
  for (const name of names) {
    if (!name.endsWith(PARTIAL)) continue;
    const entry = name.slice(0, -PARTIAL.length);
    models.push(await unrecorded(folder, entry, [name], await bytesReceived(join(folder, entry))));
  }
  return models.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Downloads begin with a hash of their source, so that files of one name do not meet. A file in a subfolder has its path. */
export function shownName(entry: string): string {
  return nameOfPath(entry.replace(/^[0-9a-f]{12}-/, ""));
}

async function unrecorded(folder: string, entry: string, files: string[], received: number | null) {
  let bytes = 0;
  for (const file of files) bytes += await sizeOf(join(folder, file));
  return { name: shownName(entry), entry, files, bytes, uri: null, checked: false, received };
}

/** 0 for a file that was removed meanwhile. */
async function sizeOf(path: string): Promise<number> {
  return stat(path).then(
    ({ size }) => size,
    () => 0,
  );
}

/** The models of a name, file or source. */
export function namedModels(models: readonly StoredModel[], wanted: string): StoredModel[] {
  return models.filter(({ name, entry, uri }) => [name, entry, uri].includes(wanted));
}

/**
 * The model of a name, file or source.
 *
 * @throws OptionsError for none, and for several
 */
export function findStored(models: readonly StoredModel[], wanted: string, folder: string): StoredModel {
  const found = namedModels(models, wanted);
  const [first, ...others] = found;
  if (first === undefined) {
    const names =
      models.length === 0 ? "The folder is empty." : `The folder has ${models.map(({ name }) => name).join(", ")}.`;
    throw new OptionsError(`There is no model '${wanted}' in ${folder}. ${names}`);
  }
  if (others.length === 0) return first;
  const ways = found.map(({ uri, entry }) => uri ?? entry).join(", ");
  throw new OptionsError(`'${wanted}' is the name of several models: give one of ${ways}.`);
}

/** Removes a model's record, then its files. @returns the bytes that are free now */
export async function removeStored(
  folder: string,
  { uri, entry, files, bytes, received }: StoredModel,
): Promise<number> {
  // Without its record, a file that is left by a crash is listed as one that was put there.
  if (uri !== null) await removeRecord(folder, uri);
  if (received !== null) await removePartial(join(folder, entry));
  else for (const file of files) await rm(join(folder, file), { force: true });
  return received ?? bytes;
}
