import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { runSchemaSuite, suiteRows } from "../../../../bench/conformance/schema-suite.ts";

/** A suite of one file for each draft. */
function suiteOf(groups: unknown, formats: unknown): string {
  const directory = mkdtempSync(join(tmpdir(), "nightshift-suite-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const files: [string, unknown][] = [
    ["draft2020-12/type.json", groups],
    ["draft7/optional/format/date.json", formats],
  ];
  for (const [file, content] of files) {
    const path = join(directory, "tests", file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, JSON.stringify(content));
  }
  return directory;
}

test("a suite is counted by draft and section, and wrong verdicts are listed", () => {
  const groups = [
    {
      description: "integer",
      schema: { type: "integer" },
      tests: [
        { description: "an integer", data: 1, valid: true },
        { description: "a string, by mistake", data: "x", valid: true },
        { description: "an integer, by mistake", data: 2, valid: false },
      ],
    },
    { description: "remote", schema: { $ref: "https://example.com/x.json" }, tests: [] },
  ];
  const formats = [
    {
      description: "an enforced format",
      schema: { format: "date" },
      tests: [
        { description: "a date", data: "2026-11-23", valid: true },
        { description: "a date, by mistake", data: "2026-11-24", valid: false },
      ],
    },
    { description: "an annotation", schema: { format: "regex" }, tests: [] },
  ];
  const directory = suiteOf(groups, formats);
  const sections = runSchemaSuite(directory);
  expect(suiteRows(sections)).toEqual([
    ["draft2020-12", "required", "2", "1", "2", "1", "1", "1"],
    ["draft2020-12", "optional", "0", "0", "0", "0", "0", "0"],
    ["draft2020-12", "formats", "0", "0", "0", "0", "0", "0"],
    ["draft7", "required", "0", "0", "0", "0", "0", "0"],
    ["draft7", "optional", "0", "0", "0", "0", "0", "0"],
    ["draft7", "formats", "1", "1", "1", "1", "1", "1"],
  ]);
  expect(sections[0]).toMatchObject({
    accepted: ["type.json: integer: an integer, by mistake"],
    unwritten: ["type.json: integer: a string, by mistake"],
    refused: { $ref: 1 },
  });
});
