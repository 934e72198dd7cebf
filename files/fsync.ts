import { open } from "node:fs/promises";

/** Puts a file's bytes on the disk, or a directory's names: a rename is durable once its directory is. */
export async function sync(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
