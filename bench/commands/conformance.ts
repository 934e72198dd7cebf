import { Command } from "commander";
import { table } from "../base/table.ts";
import { CHAT_HEAD, type ChatDifference, chatRows, runChatSuite } from "../conformance/chat-suite.ts";
import { runSchemaSuite, SUITE_HEAD, suiteRows } from "../conformance/schema-suite.ts";
import { writeReport } from "../target/report.ts";

interface Options {
  schemaSuite?: string;
  llamaSrc?: string;
  json?: string;
}

export function conformanceCommand(): Command {
  return new Command("conformance")
    .description("counts against published test suites; needs no server")
    .option("--schema-suite <dir>", "checkout of the JSON-Schema-Test-Suite: grammars of its schemas")
    .option("--llama-src <dir>", "source tree of llama.cpp: the messages of its tests/test-chat.cpp")
    .option("--json <file>", "write all counts, with the titles of the tests, to this file")
    .action(async ({ schemaSuite, llamaSrc, json }: Options, command: Command) => {
      if (schemaSuite === undefined && llamaSrc === undefined) {
        command.error("error: a suite is needed: --schema-suite or --llama-src");
      }
      const schemas =
        schemaSuite === undefined ? skipped("JSON schemas", "--schema-suite") : runSchemaSuite(schemaSuite);
      const chats = llamaSrc === undefined ? skipped("chat messages", "--llama-src") : runChatSuite(llamaSrc);
      await writeReport(json, { kind: "conformance", schemas, chats });
      const failures: string[] = [];
      if (schemas !== null) {
        process.stdout.write(`${table(SUITE_HEAD, suiteRows(schemas))}\n`);
        const accepted = schemas.flatMap(({ draft, accepted: titles }) => titles.map((title) => `${draft}/${title}`));
        if (accepted.length > 0) failures.push(`${accepted.length} invalid instances are accepted:`, ...accepted);
      }
      if (chats !== null) {
        process.stdout.write(`${table(CHAT_HEAD, chatRows(chats))}\n\n${lines(chats.differences)}\n`);
        process.stdout.write(`${chats.continued} messages that continue an answer are left out.\n`);
        const { unstable } = chats;
        if (unstable.length > 0) failures.push(`${unstable.length} results depend on the split:`, lines(unstable));
      }
      if (failures.length > 0) throw new Error(failures.join("\n"));
    });
}

function skipped(what: string, option: string): null {
  process.stderr.write(`Skipped: ${what}, for ${option} is not given.\n`);
  return null;
}

/** Characters of a printed reason; the report has all of it. */
const LONGEST_REASON = 300;

function lines(differences: readonly ChatDifference[]): string {
  return differences
    .map(({ line, template, reason }) => `${template}, line ${line}: ${reason.slice(0, LONGEST_REASON)}`)
    .join("\n");
}
