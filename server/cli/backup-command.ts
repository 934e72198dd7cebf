import { backUp } from "../../backup/backup.ts";
import { BackupError } from "../../backup/backup-error.ts";
import { codeOf } from "../../backup/durable-copy.ts";
import type { BackupManifest } from "../../backup/manifest.ts";
import { restore } from "../../backup/restore.ts";
import { version } from "../../platform/installation.ts";
import { OptionsError } from "../../platform/options-error.ts";
import { StoreError } from "../../store/types/store-error.ts";
import { sizeText } from "../options/kinds/kind.ts";
import { readOptions } from "../options/read.ts";

/** The two options of the server that name its data directory. */
export interface DataDirFlags {
  dataDir?: string;
  config?: string;
}

/** Exit code when some files are missing from a backup or were not restored, and everything else is complete. */
const INCOMPLETE = 2;

/** Backs up a data directory, also while a server uses it. Throws OptionsError. */
export async function backupCommand(to: string, flags: DataDirFlags): Promise<void> {
  const dataDir = await dataDirOf(flags);
  const manifest = await explained(() => backUp({ dataDir, to, version: version(), now: new Date() }));
  process.stdout.write(`Backed up ${dataDir} to ${to}: ${contents(manifest)}.\n`);
  report(`Warning: missing from ${dataDir}, and so from the backup`, manifest.missing);
  report(`Error: damaged in ${dataDir}; a restore of this backup leaves out`, manifest.damaged);
  if (manifest.damaged.length > 0) process.exitCode = INCOMPLETE;
}

/** Restores a data directory that no server uses. Throws OptionsError. */
export async function restoreCommand(from: string, flags: DataDirFlags & { force?: boolean }): Promise<void> {
  const dataDir = await dataDirOf(flags);
  const force = flags.force === true;
  const { manifest, left, aside } = await explained(() => restore({ from, dataDir, force, now: new Date() }));
  process.stdout.write(
    `Restored ${dataDir} from the backup of ${manifest.created_at}: ${contents(manifest)}${left.length > 0 ? `, without ${left.length} of them` : ""}.\n`,
  );
  report("Error: damaged in the backup, or missing from it, and so not restored", left);
  if (left.length > 0) process.exitCode = INCOMPLETE;
  if (aside !== null) process.stdout.write(`The previous data is in ${aside}; delete it when it is not needed.\n`);
}

function report(what: string, ids: readonly string[]): void {
  if (ids.length > 0) process.stderr.write(`${what}: ${ids.join(", ")}\n`);
}

async function dataDirOf(flags: DataDirFlags): Promise<string> {
  return (await readOptions({ ...flags }, process.env, process.cwd())).dataDir;
}

/** Throws OptionsError for errors that the user can correct, such as a full disk. */
async function explained<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const correctable = error instanceof BackupError || error instanceof StoreError || codeOf(error) !== "";
    throw correctable ? new OptionsError((error as Error).message) : error;
  }
}

function contents({ database, files, parts }: BackupManifest): string {
  const counted = ({ count, bytes }: { count: number; bytes: number }, what: string) =>
    `${count} ${what} (${sizeText(bytes)})`;
  return `database ${sizeText(database.bytes)}, ${counted(files, "files")}, ${counted(parts, "parts of uploads")}`;
}
