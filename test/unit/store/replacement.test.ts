import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ASIDE, completeReplacement, STAGED } from "../../../store/replacement.ts";
import { freshFolder } from "./test-store.ts";

/** A data directory with old contents, and new ones that wait. */
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

/** A rename that works so many times and then fails as a dying process would stop. */
function failingAfter(times: number): typeof renameSync {
  let left = times;
  return (from, to) => {
    if (left-- === 0) throw new Error("killed");
    renameSync(from, to);
  };
}

function contents(folder: string, ...paths: string[]): string[] {
  return paths.map((path) => readFileSync(join(folder, path), "utf8"));
}

describe("a staged restore", () => {
  // Five old names go aside and three new ones come.
  test.each([0, 1, 2, 3, 4, 5, 6, 7])("that is cut off after %i renames is completed by the next start", (renames) => {
    const folder = stagedFolder();
    expect(() => completeReplacement(folder, failingAfter(renames))).toThrow("killed");
    expect(completeReplacement(folder)).toBe(join(folder, "replaced-then"));
    expect(contents(folder, "nightshift.db", "files/a", "parts/b")).toEqual(["new", "new", "new"]);
    const aside = ["nightshift.db", "nightshift.db-wal", "nightshift.db-shm", "files/a", "parts/b"];
    expect(contents(join(folder, "replaced-then"), ...aside)).toEqual(["old", "old", "old", "old", "old"]);
    expect(readdirSync(folder).sort()).toEqual(["files", "models", "nightshift.db", "parts", "replaced-then"]);
  });

  test("leaves nothing aside where nothing was", () => {
    const folder = freshFolder();
    mkdirSync(join(folder, STAGED, "files"), { recursive: true });
    writeFileSync(join(folder, STAGED, ASIDE), "replaced-then");
    expect(completeReplacement(folder)).toBeNull();
    expect(readdirSync(folder)).toEqual(["files"]);
  });

  test("is nothing when none waits", () => {
    const folder = freshFolder();
    expect(completeReplacement(folder)).toBeNull();
    expect(existsSync(join(folder, "files"))).toBe(false);
  });
});
