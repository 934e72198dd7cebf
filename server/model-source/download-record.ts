import { createHash } from "node:crypto";
import { readFile, rename, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";

const RECORD = z.object({
  uri: z.string(),
  /** The file to load, and all files that belong to it, by name within the folder. */
  entry: z.string(),
  files: z.array(z.object({ name: z.string(), size: z.number() })).min(1),
});

/** What a download brought. With it a model that is there is found again without asking the network. */
export type DownloadRecord = z.infer<typeof RECORD>;

/** The record of an earlier download, if all its files are still there at their sizes; else null. */
export async function readRecord(folder: string, uri: string): Promise<DownloadRecord | null> {
  const text = await readFile(recordPath(folder, uri), "utf8").catch(() => null);
  if (text === null) return null;
  const parsed = RECORD.safeParse(parseJson(text));
  if (!parsed.success || parsed.data.uri !== uri) return null;
  for (const file of parsed.data.files) {
    const size = await sizeOf(join(folder, file.name));
    if (size !== file.size) return null;
  }
  return parsed.data;
}

export async function writeRecord(folder: string, record: DownloadRecord): Promise<void> {
  const path = recordPath(folder, record.uri);
  await writeFile(`${path}.new`, `${JSON.stringify(record, null, 2)}\n`);
  await rename(`${path}.new`, path);
}

/** Bytes, or null where there is no such file. */
export async function sizeOf(path: string): Promise<number | null> {
  return stat(path).then(
    (facts) => facts.size,
    () => null,
  );
}

function recordPath(folder: string, uri: string): string {
  return join(folder, `.${createHash("sha256").update(uri).digest("hex").slice(0, 16)}.json`);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
