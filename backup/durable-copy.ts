import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { copyFile, link, rm, stat } from "node:fs/promises";
import { sync } from "../files/fsync.ts";
import type { StoredBytes } from "../store/thread/snapshot.ts";

/** Error codes of reading a missing file and a bad sector. */
const UNREADABLE = new Set(["ENOENT", "EIO"]);

/** Hard-links an immutable file, or copies it where links are not possible. A missing or unreadable file is skipped. */
export async function linkOrCopy(from: string, to: string): Promise<void> {
  try {
    await link(from, to);
  } catch (error) {
    if (codeOf(error) !== "ENOENT" && codeOf(error) !== "EEXIST") await copyDurably(from, to);
  }
}

/**
 * Copies a file and syncs the copy; its name is durable once the directory is synced. False when the source is missing
 * or unreadable.
 */
export async function copyDurably(from: string, to: string): Promise<boolean> {
  try {
    await copyFile(from, to);
    await sync(to);
    return true;
  } catch (error) {
    if (!UNREADABLE.has(codeOf(error))) throw error;
    await rm(to, { force: true });
    return false;
  }
}

/** True when the bytes at a path are those of the row. */
export async function isIntact(path: string, { bytes, hash }: Omit<StoredBytes, "id">, algorithm: "sha256" | "md5") {
  try {
    return (await stat(path)).size === bytes && (await hashOf(path, algorithm)) === hash;
  } catch (error) {
    if (UNREADABLE.has(codeOf(error))) return false;
    throw error;
  }
}

/** Hash of a file, in hex. */
export async function hashOf(path: string, algorithm: "sha256" | "md5"): Promise<string> {
  const hash = createHash(algorithm);
  for await (const chunk of createReadStream(path)) hash.update(chunk);
  return hash.digest("hex");
}

export function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}
