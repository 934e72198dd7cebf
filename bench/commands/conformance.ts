import { Command } from "commander";
import { demoModelPath } from "../../platform/installation.ts";
import { table } from "../base/table.ts";
import { CHAT_HEAD, type ChatDifference, chatRows, runChatSuite } from "../conformance/chat-suite.ts";
import { runSchemaSuite, SUITE_HEAD, suiteRows } from "../conformance/schema-suite.ts";
import {
  runTemplateSuite,
  TEMPLATE_HEAD,
  type TemplateDifference,
  templateRows,
} from "../conformance/templates/template-suite.ts";
import { writeReport } from "../target/report.ts";

interface Options {
  schemaSuite?: string;
  llamaSrc?: string;
  templates?: string;
  llamaServer?: string;
  json?: string;
}

export function conformanceCommand(): Command {
  return new Command("conformance")
    .description("counts against published test suites; needs no server")
    .option("--schema-suite <dir>", "checkout of the JSON-Schema-Test-Suite: grammars of its schemas")
    .option("--llama-src <dir>", "source tree of llama.cpp: the messages of its tests/test-chat.cpp")
    .option("--templates <dir>", "folder of .jinja files: chat templates, compared with Python's jinja2")
    .option("--llama-server <binary>", "with --templates: compares prompts with this llama-server too")
    .option("--json <file>", "write all counts, with the titles of the tests, to this file")
    .action(async ({ schemaSuite, llamaSrc, templates, llamaServer, json }: Options, command: Command) => {
      if (schemaSuite === undefined && llamaSrc === undefined && templates === undefined) {
        command.error("error: a suite is needed: --schema-suite, --llama-src or --templates");
      }
      const schemas =
        schemaSuite === undefined ? skipped("JSON schemas", "--schema-suite") : runSchemaSuite(schemaSuite);
      const chats = llamaSrc === undefined ? skipped("chat messages", "--llama-src") : runChatSuite(llamaSrc);
      const server = llamaServer === undefined ? null : { binary: llamaServer, gguf: demoModelPath };
      const prompts =
        templates === undefined ? skipped("chat templates", "--templates") : await runTemplateSuite(templates, server);
      await writeReport(json, { kind: "conformance", schemas, chats, prompts });
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
      if (prompts !== null) {
        process.stdout.write(`${table(TEMPLATE_HEAD, templateRows(prompts))}\n\n`);
        report("renderings of messages as sent differ from Jinja2's", prompts.interpreter);
        report("prompts are neither llama-server's nor Jinja2's of the messages as sent", prompts.choices ?? []);
        report("prompts differ from Jinja2's of the messages as sent and of the adapted ones", prompts.prompts);
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

function report(what: string, differences: readonly TemplateDifference[]): void {
  process.stdout.write([`${differences.length} ${what}`, ...differences.map(line), ""].join("\n"));
}

function line({ template, conversation, here, there }: TemplateDifference): string {
  return `${template}, ${conversation}: ${JSON.stringify(here)}, not ${JSON.stringify(there)}`;
}
