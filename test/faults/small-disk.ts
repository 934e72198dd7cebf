import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A file system of its own in memory. */
export interface SmallDisk {
  path: string;
  unmount(): void;
}

/** Mounts a tmpfs of this many bytes; null where this user may not mount, which is every user but root. */
export function mountSmallDisk(bytes: number, options = ""): SmallDisk | null {
  const path = mkdtempSync(join(tmpdir(), "nightshift-disk-"));
  const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", `size=${bytes}${options}`, "tmpfs", path]);
  if (mounted.status !== 0) {
    rmSync(path, { recursive: true });
    return null;
  }
  return {
    path,
    unmount() {
      spawnSync("umount", ["-l", path]);
      rmSync(path, { recursive: true, force: true });
    },
  };
}

/** Fills the disk to the last byte, as dd does. Returns the file that has them. */
export function fillDisk(path: string): string {
  const ballast = join(path, "ballast");
  spawnSync("dd", ["if=/dev/zero", `of=${ballast}`, "bs=4k"]);
  return ballast;
}
