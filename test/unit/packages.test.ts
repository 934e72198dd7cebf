import { readFileSync } from "node:fs";
import { expect, it } from "vitest";

interface LockedPackage {
  version?: string;
  resolved?: string;
  integrity?: string;
  hasInstallScript?: boolean;
  link?: boolean;
  optional?: boolean;
  os?: string[];
}

const read = (path: string) => JSON.parse(readFileSync(new URL(`../../${path}`, import.meta.url), "utf8"));
const manifest = read("package.json");
const lock = read("package-lock.json");
const locked: [string, LockedPackage][] = Object.entries<LockedPackage>(lock.packages).filter(([path]) => path !== "");
const nameOf = (path: string) => path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);

/**
 * Binaries for other platforms, which npm locked without fetching them: their version is fixed, their content is not.
 * The list must not grow.
 */
const UNSEEN = /^node_modules\/@(biomejs\/cli|node-llama-cpp\/(linux-riscv64|mac|win))-?/;

it("every package is locked to one version with a hash and comes from a registry", () => {
  expect(locked.length).toBeGreaterThan(100);
  for (const [path, { version, integrity, link, resolved, optional, os }] of locked) {
    expect([path, version]).toEqual([path, expect.stringMatching(/^\d+\.\d+\.\d+/)]);
    if (integrity === undefined)
      expect([path, optional, os]).toEqual([expect.stringMatching(UNSEEN), true, expect.any(Array)]);
    else expect([path, integrity]).toEqual([path, expect.stringMatching(/^sha512-/)]);
    expect([path, link]).toEqual([path, undefined]);
    if (resolved !== undefined) expect([path, resolved]).toEqual([path, expect.stringMatching(/^https:/)]);
  }
});

it("the lock file matches package.json", () => {
  expect(lock.packages[""].dependencies).toEqual(manifest.dependencies);
  expect(lock.packages[""].devDependencies).toEqual(manifest.devDependencies);
});

// A new dependency with an install script needs a decision of its own.
it("install scripts are those listed in package.json, and run for SQLite only", () => {
  const wanting = locked.filter(([, { hasInstallScript }]) => hasInstallScript).map(([path]) => nameOf(path));
  expect(Object.keys(manifest.allowScripts)).toEqual(expect.arrayContaining(wanting));
  const allowed = Object.entries(manifest.allowScripts).filter(([, runs]) => runs);
  expect(allowed).toEqual([["better-sqlite3", true]]);
  const setup = readFileSync(new URL("../../scripts/setup.mjs", import.meta.url), "utf8");
  expect(setup).toContain('npm(["ci", "--ignore-scripts"');
});
