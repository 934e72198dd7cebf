import { Sweeper } from "../../files/expiry-sweeper.ts";
import { FileRoom } from "../../files/file-store.ts";
import { UploadRoom } from "../../files/upload-store.ts";
import type { Log } from "../../platform/log.ts";
import { WallTime } from "../../platform/wall-time.ts";
import type { Store } from "../../store/store.ts";
import type { Options } from "../options/table.ts";
import { type RetentionOptions, retentionTasks } from "./retention.ts";

export interface Rooms {
  files: FileRoom;
  uploads: UploadRoom;
  /** The time that deadlines are held against. */
  time: WallTime;
  sweeper: Sweeper;
}

/** How long the Idempotency-Key of a batch is known: far longer than any client tries again. */
const KEY_SECONDS = 7 * 86_400;
/** Of those, so many are forgotten in one sweep. */
const KEYS = 1000;

/** Opens the rooms over an open store; what a crash left on disk is put right first. The sweeper is not started. */
export async function openRooms(
  options: Pick<Options, "dataDir" | "diskReserve" | "storageQuota" | "maxFiles"> & RetentionOptions,
  store: Store,
  log: Log,
): Promise<Rooms> {
  const { dataDir, diskReserve, storageQuota, maxFiles } = options;
  const time = new WallTime({ now: () => performance.now(), epochMs: () => Date.now() }, log);
  const deps = { dataDir, diskReserve, storageQuota, maxFiles, store, clock: time, log };
  const files = await FileRoom.open(deps);
  const uploads = await UploadRoom.open({ ...deps, files });
  const sweeper = new Sweeper(time, log, [
    { name: "files", run: (now) => files.removeExpired(now) },
    { name: "places of removed files", run: (now) => files.forgetPlaces(now) },
    { name: "uploads", run: (now) => uploads.expire(now) },
    { name: "settled uploads", run: (now) => uploads.forget(now) },
    { name: "idempotency keys", run: (now) => store.batches.forgetKeys({ before: now - KEY_SECONDS, limit: KEYS }) },
    ...retentionTasks(options, store, files),
  ]);
  return { files, uploads, time, sweeper };
}
