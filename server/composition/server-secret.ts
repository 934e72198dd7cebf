import { randomBytes } from "node:crypto";
import { open, readFile, rename } from "node:fs/promises";
import { join } from "node:path";
import { OptionsError } from "../../platform/options-error.ts";

const SECRET_BYTES = 32;

/**
 * The random bytes of `<data-dir>/secret`, which is made at the first start; the caller holds the directory's lock. Backups
 * leave it out. Texts that were sealed with a lost secret do not open any more. Rejects with OptionsError for a damaged file.
 */
export async function serverSecret(dataDir: string): Promise<Buffer> {
  const path = join(dataDir, "secret");
  const known = await readFile(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return null;
    throw error;
  });
  if (known === null) return newSecret(dataDir, path);
  if (known.length !== SECRET_BYTES) {
    throw new OptionsError(
      `${path} has ${known.length} bytes and not ${SECRET_BYTES}: remove it, and the next start makes another.`,
    );
  }
  return known;
}

/** A crash leaves no half of a secret. */
async function newSecret(dataDir: string, path: string): Promise<Buffer> {
  const secret = randomBytes(SECRET_BYTES);
  const draft = `${path}.new`;
  await synced(draft, "w", (file) => file.writeFile(secret));
  await rename(draft, path);
  await synced(dataDir, "r");
  return secret;
}

type Opened = Awaited<ReturnType<typeof open>>;

async function synced(path: string, flags: "r" | "w", write?: (file: Opened) => Promise<void>): Promise<void> {
  const file = await open(path, flags, 0o600);
  try {
    await write?.(file);
    await file.sync();
  } finally {
    await file.close();
  }
}
