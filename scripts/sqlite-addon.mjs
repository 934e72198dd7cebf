// SQLite's addon is compiled for one version of Node's ABI (process.versions.modules): that of another major is refused.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const FOLDER = "node_modules/better-sqlite3/build/Release";
const LOAD = "process.dlopen({ exports: {} }, process.argv[1])";

/** Whether the addon below `root` is there and this Node can load it. What it was last loaded by is noted beside it. */
export function sqliteAddonFits(root) {
  const addon = join(root, FOLDER, "better_sqlite3.node");
  if (!existsSync(addon)) return false;
  const note = join(root, FOLDER, ".loaded-by");
  const self = [process.versions.modules, process.platform, process.arch].join(" ");
  if (existsSync(note) && readFileSync(note, "utf8") === self) return true;
  // In a process of its own: an addon for another ABI may also crash.
  if (spawnSync(process.execPath, ["-e", LOAD, addon], { stdio: "ignore" }).status !== 0) return false;
  try {
    writeFileSync(note, self);
  } catch {
    // A checkout that may not be written is asked again at each start.
  }
  return true;
}
