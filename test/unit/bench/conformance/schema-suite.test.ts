import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { runSchemaSuite, suiteRows } from "../../../../bench/conformance/schema-suite.ts";

/** A suite of one file for each draft. */
function suiteOf(groups: unknown): string {
  const directory = mkdtempSync(join(tmpdir(), "nightshift-suite-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  for (const file of ["draft2020-12/type.json", "draft7/optional/format/date.json"]) {
    const path = join(directory, "tests", file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, JSON.stringify(groups));
  }
  return directory;
}

test("a suite is counted by draft and section, and wrong verdicts are listed", () => {
  const directory = suiteOf([
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
  ]);
  const sections = runSchemaSuite(directory);
  expect(suiteRows(sections)).toEqual([
    ["draft2020-12", "required", "2", "1", "2", "1", "1", "1"],
    ["draft2020-12", "optional", "0", "0", "0", "0", "0", "0"],
    ["draft2020-12", "formats", "0", "0", "0", "0", "0", "0"],
    ["draft7", "required", "0", "0", "0", "0", "0", "0"],
    ["draft7", "optional", "0", "0", "0", "0", "0", "0"],
    ["draft7", "formats", "2", "1", "2", "1", "1", "1"],
  ]);
  expect(sections[0]).toMatchObject({
    accepted: ["type.json: integer: an integer, by mistake"],
    unwritten: ["type.json: integer: a string, by mistake"],
    refused: { $ref: 1 },
  });
});
