import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { expect, test } from "vitest";
import { DOCUMENTS, ROOT } from "./markdown-files.ts";

const FOLDERS = readdirSync(ROOT, { withFileTypes: true }).filter((entry) => entry.isDirectory());
const SOURCES = FOLDERS.map(({ name }) => name).filter(
  (name) => !["dist", "node_modules", "data"].includes(name) && name[0] !== ".",
);
/** Parts of paths that begin below a folder which the text names, such as `scheduler/plan.ts`. */
const BELOW = ["", "engine/", "engine/worker/", "batch/", "server/", "test/unit/"];

/** The anchor that GitHub makes of a heading. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");
}

function anchors(text: string): string[] {
  return [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading]) => anchorOf(heading!));
}

test.each([...DOCUMENTS])("the links of %s resolve", (path, text) => {
  const broken = [...text.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, link]) => link!)
    .filter((link) => !/^[a-z]+:/.test(link))
    .filter((link) => {
      const [file, anchor] = link.split("#");
      const target = file === "" ? path : relative(ROOT, join(ROOT, dirname(path), file!));
      if (!existsSync(join(ROOT, target))) return true;
      return anchor !== undefined && !anchors(DOCUMENTS.get(target) ?? "").includes(anchor);
    });
  expect(broken).toEqual([]);
});

test.each([...DOCUMENTS])("the files and folders that %s names exist", (_, text) => {
  if (/^Status: superseded/m.test(text)) return;
  const files = [...text.matchAll(/(?<![\w/.-])((?:[\w-]+\/)+[\w.-]+\.(?:ts|mjs))(?![\w-])/g)];
  const quoted = [...text.matchAll(/`((?:[\w.-]+\/)+[\w.-]*)`/g)].filter(([, path]) =>
    SOURCES.includes(path!.split("/")[0]!),
  );
  const named = [...files, ...quoted].map(([, path]) => path!);
  expect(
    named.filter(
      (path) =>
        !BELOW.some((folder) => existsSync(join(ROOT, folder, path)) || existsSync(join(ROOT, folder, `${path}.ts`))),
    ),
  ).toEqual([]);
});

test("the documents that source files name exist", () => {
  const missing = SOURCES.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
      .filter((name) => /\.(ts|mjs|yml|yaml)$/.test(name))
      .flatMap((name) => {
        const text = readFileSync(join(ROOT, folder, name), "utf8");
        const documents = [...text.matchAll(/(?<![\w/])docs\/[\w./-]+\.md\b/g)].map(([document]) => document);
        return documents
          .filter((document) => !existsSync(join(ROOT, document)))
          .map((document) => `${folder}/${name}: ${document}`);
      }),
  );
  expect(missing).toEqual([]);
});

test("a streamed chat passes at most 30 files, and each once", () => {
  const [, walk = ""] = DOCUMENTS.get("docs/structure.md")!.split("## A chat request's life");
  const rows = walk.split("\n").filter((line) => /^\| [a-z ]+ \| `/.test(line));
  const files = rows.flatMap((row) => [...row.matchAll(/`([\w/-]+)`/g)].map(([, path]) => path!));
  expect(files.length).toBeGreaterThan(20);
  expect(files.length).toBeLessThanOrEqual(30);
  expect(files).toEqual([...new Set(files)]);
  expect(files.filter((path) => !existsSync(join(ROOT, `${path}.ts`)))).toEqual([]);
});
