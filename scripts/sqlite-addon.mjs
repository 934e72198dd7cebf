// SQLite's addon is compiled for one version of Node's ABI (process.versions.modules); Node of another ABI cannot load
// it.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const FOLDER = "node_modules/better-sqlite3/build/Release";
const LOAD = "process.dlopen({ exports: {} }, process.argv[1])";

/**
 * True when the addon below `root` exists and this Node can load it. A file beside it records the Node that last loaded
 * it.
 */
export function sqliteAddonFits(root) {
  const addon = join(root, FOLDER, "better_sqlite3.node");
  if (!existsSync(addon)) return false;
  const record = join(root, FOLDER, ".loaded-by");
  const self = [process.versions.modules, process.platform, process.arch].join(" ");
  if (existsSync(record) && readFileSync(record, "utf8") === self) return true;
  // In its own process: an addon for another ABI may also crash.
  if (spawnSync(process.execPath, ["-e", LOAD, addon], { stdio: "ignore" }).status !== 0) return false;
  try {
    writeFileSync(record, self);
  } catch {
    // A read-only checkout is tested at each start.
  }
  return true;
}
