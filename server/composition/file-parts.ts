import { ExpirySweeper } from "../../files/expiry-sweeper.ts";
import { FileStore } from "../../files/file-store.ts";
import { UploadStore } from "../../files/upload-store.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Log } from "../../platform/log.ts";
import { WallTime } from "../../platform/wall-time.ts";
import type { Store } from "../../store/store.ts";
import type { Options } from "../options/table.ts";
import { type RetentionOptions, removedAnswerTasks, retentionTasks } from "./retention-tasks.ts";

export interface FileParts {
  files: FileStore;
  uploads: UploadStore;
  /** The wall time that deadlines are compared with. */
  time: WallTime;
  sweeper: ExpirySweeper;
}

/** Seconds that the Idempotency-Key of a batch is kept: far longer than any client retries. */
const KEY_SECONDS = 7 * 86_400;
/** Most idempotency keys that one sweep removes. */
const KEYS = 1000;

/** Opens files and uploads over an open store, after it has repaired what a crash left on disk. The sweeper is not started. */
export async function openFileParts(
  options: Pick<Options, "dataDir" | "diskReserve" | "storageQuota" | "maxFiles"> & RetentionOptions,
  store: Store,
  clock: Clock,
  log: Log,
): Promise<FileParts> {
  const { dataDir, diskReserve, storageQuota, maxFiles } = options;
  const time = new WallTime(clock, log);
  const deps = { dataDir, diskReserve, storageQuota, maxFiles, store, clock: time, log };
  const files = await FileStore.open(deps);
  const uploads = await UploadStore.open({ ...deps, files });
  const sweeper = new ExpirySweeper(time, log, [
    { name: "files", run: (now) => files.removeExpired(now) },
    { name: "places of removed files", run: (now) => files.forgetRemoved(now) },
    { name: "uploads", run: (now) => uploads.expire(now) },
    { name: "settled uploads", run: (now) => uploads.forget(now) },
    { name: "idempotency keys", run: (now) => store.batches.forgetKeys({ before: now - KEY_SECONDS, limit: KEYS }) },
    ...retentionTasks(options, store, files),
    ...removedAnswerTasks(store),
  ]);
  return { files, uploads, time, sweeper };
}
