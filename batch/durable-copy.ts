import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { copyFile, link } from "node:fs/promises";
import { sync } from "./sync.ts";

/**
 * Gives an immutable file a second name, or a copy where the file system has no links or it is another one. False when
 * it is not there.
 */
export async function linkOrCopy(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
    return true;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return false;
    if (codeOf(error) === "EEXIST") return true;
  }
  try {
    await copyDurably(from, to);
    return true;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return false;
    throw error;
  }
}

/** The copy is on the disk when this resolves; its name is once the directory is synced. */
async function copyDurably(from: string, to: string): Promise<void> {
  await copyFile(from, to);
  await sync(to);
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
