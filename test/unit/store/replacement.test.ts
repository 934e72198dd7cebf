import fs, { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ASIDE, completeReplacement, type ReplacementDisk, STAGED } from "../../../store/thread/replacement.ts";
import { freshFolder } from "./test-store.ts";

/** A data directory with old contents and a staged restore. */
function stagedFolder(): string {
  const folder = freshFolder();
  for (const [root, text] of [
    [folder, "old"],
    [join(folder, STAGED), "new"],
  ] as const) {
    for (const kind of ["files", "parts"]) mkdirSync(join(root, kind), { recursive: true });
    writeFileSync(join(root, "nightshift.db"), text);
    writeFileSync(join(root, "files", "a"), text);
    writeFileSync(join(root, "parts", "b"), text);
  }
  writeFileSync(join(folder, "nightshift.db-wal"), "old");
  writeFileSync(join(folder, "nightshift.db-shm"), "old");
  mkdirSync(join(folder, "models"));
  writeFileSync(join(folder, STAGED, ASIDE), "replaced-then");
  return folder;
}

class Killed extends Error {}

const CALLS = [
  "closeSync",
  "existsSync",
  "fsyncSync",
  "mkdirSync",
  "openSync",
  "readFileSync",
  "renameSync",
  "rmdirSync",
] as const;

/**
 * The file system of a process that is killed before its call `last` (from 0) takes effect. A recursive removal counts
 * as one call per entry and one for the directory.
 */
function diskUntil(last: number): { disk: ReplacementDisk; killed: () => boolean } {
  let left = last;
  const call = <T>(run: () => T): T => {
    if (left <= 0) {
      left = -1;
      throw new Killed();
    }
    left--;
    return run();
  };
  const counted = Object.fromEntries(
    CALLS.map((name) => [name, (...args: unknown[]) => call(() => Reflect.apply(fs[name], fs, args))]),
  );
  const rmSync = (path: string) => {
    if (!fs.existsSync(path)) return;
    for (const name of fs.readdirSync(path)) call(() => fs.rmSync(join(path, name), { recursive: true }));
    call(() => fs.rmdirSync(path));
  };
  return {
    disk: { ...(counted as unknown as ReplacementDisk), rmSync: rmSync as typeof fs.rmSync },
    killed: () => left < 0,
  };
}

/** False when the process was killed meanwhile. */
function completes(folder: string, disk: ReplacementDisk): boolean {
  try {
    completeReplacement(folder, disk);
    return true;
  } catch (error) {
    if (error instanceof Killed) return false;
    throw error;
  }
}

function contents(folder: string, ...paths: string[]): string[] {
  return paths.map((path) => readFileSync(join(folder, path), "utf8"));
}

describe("a staged restore", () => {
  test("that is killed at any file system call is completed by the next start", () => {
    const expectComplete = (folder: string) => {
      expect(contents(folder, "nightshift.db", "files/a", "parts/b")).toEqual(["new", "new", "new"]);
      const aside = ["nightshift.db", "nightshift.db-wal", "nightshift.db-shm", "files/a", "parts/b"];
      expect(contents(join(folder, "replaced-then"), ...aside)).toEqual(["old", "old", "old", "old", "old"]);
      expect(readdirSync(folder).sort()).toEqual(["files", "models", "nightshift.db", "parts", "replaced-then"]);
    };
    let calls = 0;
    for (let over = false; !over; calls++) {
      const folder = stagedFolder();
      const { disk, killed } = diskUntil(calls);
      over = completes(folder, disk) && !killed();
      if (!over) completeReplacement(folder);
      expectComplete(folder);
    }
    // Eight renames of contents, one of the staged directory, and the lookups and syncs between them.
    expect(calls).toBeGreaterThan(20);
  });

  test("whose removal is interrupted does not disturb a later restore", () => {
    const folder = stagedFolder();
    mkdirSync(join(folder, `${STAGED}.done`));
    writeFileSync(join(folder, `${STAGED}.done`, ASIDE), "replaced-before");
    completeReplacement(folder);
    expect(readdirSync(folder).sort()).toEqual(["files", "models", "nightshift.db", "parts", "replaced-then"]);
  });

  test("creates no directory of old data where there was none", () => {
    const folder = freshFolder();
    mkdirSync(join(folder, STAGED, "files"), { recursive: true });
    writeFileSync(join(folder, STAGED, ASIDE), "replaced-then");
    expect(completeReplacement(folder)).toBeNull();
    expect(readdirSync(folder)).toEqual(["files"]);
  });

  test("that does not exist changes nothing", () => {
    const folder = freshFolder();
    expect(completeReplacement(folder)).toBeNull();
    expect(existsSync(join(folder, "files"))).toBe(false);
  });
});
