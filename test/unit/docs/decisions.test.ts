import { expect, test } from "vitest";
import { DOCUMENTS } from "./markdown-files.ts";

const INDEX = "docs/decisions/README.md";
const files = [...DOCUMENTS.keys()].filter((path) => path.startsWith("docs/decisions/") && path !== INDEX);

test.each(files)("%s has a date in its name, a title, a status and the three sections", (path) => {
  expect(path).toMatch(/^docs\/decisions\/\d{4}-\d\d-\d\d-[a-z0-9-]+\.md$/);
  const text = DOCUMENTS.get(path)!;
  expect(text).toMatch(/^# [A-Z`].*\n\nStatus: (accepted(, amended by \[.+)?|superseded by \[.+)\n\n## Context\n/);
  expect(text.match(/^## .*/gm)?.filter((heading) => heading !== "## Measured")).toEqual([
    "## Context",
    "## Decision",
    "## Consequences",
  ]);
});

test("the index has each decision once, with its title", () => {
  const indexed = [...DOCUMENTS.get(INDEX)!.matchAll(/^- \[(.+?)\]\((\S+\.md)\)(?: \(superseded\))?: .+/gm)];
  const titles = Object.fromEntries(indexed.map(([, title, file]) => [`docs/decisions/${file}`, title]));
  expect(titles).toEqual(Object.fromEntries(files.map((path) => [path, /^# (.*)/.exec(DOCUMENTS.get(path)!)![1]])));
  expect(indexed).toHaveLength(files.length);
});
