import { Command } from "commander";
import { table } from "../base/table.ts";
import { runSchemaSuite, SUITE_HEAD, suiteRows } from "../conformance/schema-suite.ts";
import { writeReport } from "../target/report.ts";

interface Options {
  schemaSuite?: string;
  json?: string;
}

export function conformanceCommand(): Command {
  return new Command("conformance")
    .description("counts against published test suites; needs no server")
    .option("--schema-suite <dir>", "checkout of the JSON-Schema-Test-Suite: grammars of its schemas")
    .option("--json <file>", "write all counts, with the titles of the tests, to this file")
    .action(async ({ schemaSuite, json }: Options, command: Command) => {
      if (schemaSuite === undefined) command.error("error: a suite is needed: --schema-suite");
      const sections = runSchemaSuite(schemaSuite!);
      await writeReport(json, { kind: "conformance", schemas: sections });
      process.stdout.write(`${table(SUITE_HEAD, suiteRows(sections))}\n`);
      const accepted = sections.flatMap(({ draft, accepted: titles }) => titles.map((title) => `${draft}/${title}`));
      if (accepted.length === 0) return;
      throw new Error(`${accepted.length} invalid instances are accepted:\n${accepted.join("\n")}`);
    });
}
