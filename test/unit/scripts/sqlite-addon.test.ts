import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { beforeEach, expect, it, onTestFinished } from "vitest";

const MODULE = new URL("../../../scripts/sqlite-addon.mjs", import.meta.url);
const { sqliteAddonFits }: { sqliteAddonFits: (root: string) => boolean } = await import(MODULE.href);
const BUILD = dirname(createRequire(import.meta.url).resolve("better-sqlite3/build/Release/better_sqlite3.node"));

let root: string;
let folder: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "nightshift-setup-"));
  folder = join(root, "node_modules/better-sqlite3/build/Release");
  mkdirSync(folder, { recursive: true });
  onTestFinished(() => rmSync(root, { recursive: true }));
});
const addon = () => join(folder, "better_sqlite3.node");
const note = () => readFileSync(join(folder, ".loaded-by"), "utf8");

it("a missing addon, or one that this Node cannot load, must be built", () => {
  expect(sqliteAddonFits(root)).toBe(false);
  writeFileSync(addon(), "compiled for something else");
  expect(sqliteAddonFits(root)).toBe(false);
});

it("an addon last loaded by another Node is tested first", () => {
  writeFileSync(join(folder, ".loaded-by"), `1 ${process.platform} ${process.arch}`);
  writeFileSync(addon(), "compiled for Node of ABI 1");
  expect(sqliteAddonFits(root)).toBe(false);
  copyFileSync(join(BUILD, "better_sqlite3.node"), addon());
  expect(sqliteAddonFits(root)).toBe(true);
  expect(note()).toBe(`${process.versions.modules} ${process.platform} ${process.arch}`);
});

it("an addon last loaded by this Node is not tested again", () => {
  copyFileSync(join(BUILD, "better_sqlite3.node"), addon());
  expect(sqliteAddonFits(root)).toBe(true);
  writeFileSync(addon(), "changed");
  expect(sqliteAddonFits(root)).toBe(true);
});
