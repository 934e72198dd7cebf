import { readdir, unlink } from "node:fs/promises";
import { join } from "node:path";
import type { Log } from "../platform/log.ts";
import type { Store } from "../store/store.ts";

const ROWS_AT_ONCE = 1000;

export interface Reconciliation {
  dir: string;
  /** True when the directory was missing and has just been created. */
  made: boolean;
  files: Pick<Store["files"], "ids" | "forget" | "hasResults" | "wasRemoved">;
  log: Log;
}

/**
 * Reconciles rows with the disk after a crash. Bytes without a row were never acknowledged and are removed; rows
 * without bytes (such as after a manual `rm`) are reported and removed. When one side is missing as a whole (a disk
 * that is not mounted, a replaced database), the other is the only copy and is only reported, except for files whose
 * removal is recorded in the database. A result file whose results are still in rows is restored by its batch.
 */
export async function reconcile({ dir, made, files, log }: Reconciliation): Promise<void> {
  const orphans = new Set(await readdir(dir));
  const onDisk = orphans.size;
  const lost: string[] = [];
  let rows = 0;
  for (let after: string | null = ""; after !== null; ) {
    const page: { id: string }[] = await files.ids({ after, limit: ROWS_AT_ONCE });
    for (const { id } of page) if (!orphans.delete(id)) lost.push(id);
    rows += page.length;
    after = page.length === ROWS_AT_ONCE ? page.at(-1)!.id : null;
  }
  if (lost.length > 0 && made) {
    log.error({ dir, rows }, "The directory of files was missing; their rows are kept. Is its disk mounted?");
  } else {
    for (const id of lost) {
      if (await files.hasResults({ id })) continue;
      log.error({ id }, "A file is missing on the disk; its row is removed");
      await files.forget({ id });
    }
  }
  if (rows > 0) {
    await removeOrphans(dir, orphans, log);
    return;
  }
  // The server ended between the removal of the last row and of its bytes.
  const removed = new Set<string>();
  for (const id of orphans) if (await files.wasRemoved({ id })) removed.add(id);
  await removeOrphans(dir, removed, log);
  if (orphans.size > removed.size) {
    log.error(
      { dir, onDisk },
      "There are files on the disk, but none in the database; they are kept. Is it the right database?",
    );
  }
}

async function removeOrphans(dir: string, names: ReadonlySet<string>, log: Log): Promise<void> {
  for (const name of names) {
    log.warn({ name }, "Bytes without a file row are removed");
    await unlink(join(dir, name)).catch((error: NodeJS.ErrnoException) => {
      log.error({ name, code: error.code }, "Bytes without a file row could not be removed");
    });
  }
}
