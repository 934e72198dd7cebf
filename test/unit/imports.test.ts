import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** The parts that each part may import besides itself. `server` composes all of them; `bench` measures from outside. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  platform: [],
  grammar: [],
  openapi: ["grammar", "platform"],
  store: ["openapi", "platform"],
  engine: ["grammar", "openapi", "platform"],
  files: ["openapi", "platform", "store"],
  backup: ["files", "store"],
  ledger: ["engine", "openapi", "platform", "store"],
  webhooks: ["platform", "store"],
  batch: ["engine", "files", "grammar", "ledger", "openapi", "platform", "store"],
  bench: ["engine", "grammar", "platform", "store"],
  server: [
    ...["backup", "batch", "engine", "files", "grammar", "ledger", "openapi", "platform", "store", "webhooks"],
    // The command `nightshift bench`.
    "bench",
  ],
};
const PARTS = Object.keys(MAY_IMPORT);

/** Native code runs in the engine process: the server uses only its client and the protocol. */
const WORKER_USERS = ["bench", "engine"];
const CLIENT_USERS = ["server", "bench"];

const MOST_FILES = 20;

/** The imports of each file. */
const imports = new Map<string, string[]>();
for (const part of PARTS) {
  for (const name of readdirSync(join(ROOT, part), { recursive: true, encoding: "utf8" })) {
    if (!name.endsWith(".ts")) continue;
    const file = join(part, name);
    const text = readFileSync(join(ROOT, file), "utf8");
    const specifiers = [...text.matchAll(/(?:from|import)\s*\(?\s*"(\.\.?\/[^"]+)"/g)].map(
      ([, specifier]) => specifier!,
    );
    imports.set(
      file,
      specifiers.map((specifier) => relative(ROOT, resolve(ROOT, dirname(file), specifier))),
    );
  }
}
const partOf = (file: string) => file.slice(0, file.indexOf("/"));
const edges = [...imports].flatMap(([from, targets]) => targets.map((to): [string, string] => [from, to]));

/** A file directly in `server/` is an entry point and counts as its own folder. */
const folderOf = (file: string) => (dirname(file) === "server" ? file : dirname(file));

test("a part imports only parts below it", () => {
  expect(imports.size).toBeGreaterThan(500);
  const upward = edges.filter(([from, to]) => {
    const [a, b] = [partOf(from), partOf(to)];
    return a !== b && !MAY_IMPORT[a]!.includes(b);
  });
  expect(upward).toEqual([]);
});

test("upstreams stand beside the local engine, and share only the seam and its protocol", () => {
  const below = /^(platform|openapi|engine\/protocol|engine\/upstream)\/|^engine\/[\w-]+\.ts$/;
  const outside = edges.filter(([from, to]) => from.startsWith("engine/upstream/") && !below.test(to));
  expect(outside).toEqual([]);
  const users = edges.filter(([from, to]) => to.startsWith("engine/upstream/") && !from.startsWith("engine/upstream/"));
  expect(users.filter(([from]) => partOf(from) !== "server")).toEqual([]);
});

test("bench is imported only by the command line", () => {
  const users = edges.filter(([from, to]) => partOf(to) === "bench" && partOf(from) !== "bench");
  expect(users.map(([from]) => from)).toEqual(["server/cli.ts"]);
});

test("the engine process and the engine's client share only the protocol", () => {
  const crossing = edges.filter(([from, to]) => {
    if (to.startsWith("engine/worker/"))
      return !WORKER_USERS.includes(partOf(from)) || from.startsWith("engine/client/");
    return (
      to.startsWith("engine/client/") && !from.startsWith("engine/client/") && !CLIENT_USERS.includes(partOf(from))
    );
  });
  expect(crossing).toEqual([]);
});

describe("no circle", () => {
  test("of files", () => {
    expect(circles(edges)).toEqual([]);
  });

  test("of folders", () => {
    const between = edges.map(([from, to]): [string, string] => [folderOf(from), folderOf(to)]);
    expect(circles(between.filter(([from, to]) => from !== to))).toEqual([]);
  });
});

test(`a folder has ${MOST_FILES} files at most`, () => {
  const counts = new Map<string, number>();
  for (const file of imports.keys()) counts.set(dirname(file), (counts.get(dirname(file)) ?? 0) + 1);
  expect([...counts].filter(([, count]) => count > MOST_FILES)).toEqual([]);
});

/** The rest after repeatedly removing edges to files without imports of their own. */
function circles(all: readonly [string, string][]): [string, string][] {
  let left = [...all];
  for (;;) {
    const importing = new Set(left.map(([from]) => from));
    const next = left.filter(([, to]) => importing.has(to));
    if (next.length === left.length) return left;
    left = next;
  }
}
