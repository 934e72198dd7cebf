import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { copyFile, link, rm, stat } from "node:fs/promises";
import { sync } from "../files/fsync.ts";
import type { StoredBytes } from "../store/thread/snapshot.ts";

/** What a file that is gone, and one on a bad sector, fails to be read with. */
const UNREADABLE = new Set(["ENOENT", "EIO"]);

/**
 * Gives an immutable file a second name, or a copy where the file system has no links or it is another one; nothing
 * when it is not there or can't be read.
 */
export async function linkOrCopy(from: string, to: string): Promise<void> {
  try {
    await link(from, to);
  } catch (error) {
    if (codeOf(error) !== "ENOENT" && codeOf(error) !== "EEXIST") await copyDurably(from, to);
  }
}

/**
 * The copy is on the disk when this resolves; its name is once the directory is synced. False when there is nothing to copy
 * or it can't be read.
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

/** Whether the bytes at a path are those that a row stands for. */
export async function isIntact(path: string, { bytes, hash }: Omit<StoredBytes, "id">, algorithm: "sha256" | "md5") {
  try {
    return (await stat(path)).size === bytes && (await hashOf(path, algorithm)) === hash;
  } catch (error) {
    if (UNREADABLE.has(codeOf(error))) return false;
    throw error;
  }
}

/** Hex. */
export async function hashOf(path: string, algorithm: "sha256" | "md5"): Promise<string> {
  const hash = createHash(algorithm);
  for await (const chunk of createReadStream(path)) hash.update(chunk);
  return hash.digest("hex");
}

export function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}
