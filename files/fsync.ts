import { open } from "node:fs/promises";

/** Syncs a file, or a directory's entries: a rename is durable once its directory is synced. */
export async function sync(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
