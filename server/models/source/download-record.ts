import { createHash } from "node:crypto";
import { readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";

const FILE = z.object({
  name: z.string(),
  size: z.number(),
  /** Hex; of the received bytes. */
  sha256: z.string().nullable().default(null),
  /** True if the hub or the user specified this hash. */
  checked: z.boolean().default(false),
});

const RECORD = z.object({
  uri: z.string(),
  /** The file to load and all files that belong to it, by name within the folder. */
  entry: z.string(),
  files: z.array(FILE).min(1),
});

/** The result of a download, by which a later start finds the model without network access. */
export type DownloadRecord = z.infer<typeof RECORD>;

const NAME = /^\.[0-9a-f]{16}\.json$/;

/**
 * The beginning of the names of a download's files: a hash of the model's URI, so that files of the same name at different
 * servers never share a file.
 */
export function filePrefix(uri: string): string {
  return `${createHash("sha256").update(uri).digest("hex").slice(0, 12)}-`;
}

/**
 * The record of an earlier download, if all its files still exist with their sizes and belong to no other model's record;
 * else null.
 */
export async function readRecord(folder: string, uri: string): Promise<DownloadRecord | null> {
  const record = await recordAt(recordPath(folder, uri));
  if (record === null || record.uri !== uri) return null;
  for (const file of record.files) {
    const size = await sizeOf(join(folder, file.name));
    if (size !== file.size) return null;
  }
  const own = new Set(record.files.map(({ name }) => name));
  for (const name of await readdir(folder)) {
    const other = NAME.test(name) ? await recordAt(join(folder, name)) : null;
    if (other !== null && other.uri !== uri && other.files.some((file) => own.has(file.name))) return null;
  }
  return record;
}

/** The records of all downloads whose files are complete. */
export async function readRecords(folder: string): Promise<DownloadRecord[]> {
  const records: DownloadRecord[] = [];
  for (const name of await readdir(folder)) {
    const record = NAME.test(name) ? await recordAt(join(folder, name)) : null;
    if (record === null) continue;
    const sizes = await Promise.all(record.files.map((file) => sizeOf(join(folder, file.name))));
    if (record.files.every(({ size }, i) => sizes[i] === size)) records.push(record);
  }
  return records;
}

export async function removeRecord(folder: string, uri: string): Promise<void> {
  await rm(recordPath(folder, uri), { force: true });
}

export async function writeRecord(folder: string, record: DownloadRecord): Promise<void> {
  const path = recordPath(folder, record.uri);
  await writeFile(`${path}.new`, `${JSON.stringify(record, null, 2)}\n`);
  await rename(`${path}.new`, path);
}

async function recordAt(path: string): Promise<DownloadRecord | null> {
  try {
    return RECORD.parse(JSON.parse(await readFile(path, "utf8")));
  } catch {
    return null;
  }
}

/** Bytes, or null if there is no such file. */
async function sizeOf(path: string): Promise<number | null> {
  return stat(path).then(
    (facts) => facts.size,
    () => null,
  );
}

function recordPath(folder: string, uri: string): string {
  return join(folder, `.${createHash("sha256").update(uri).digest("hex").slice(0, 16)}.json`);
}
