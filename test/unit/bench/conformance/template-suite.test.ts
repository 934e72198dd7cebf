import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { CONVERSATIONS } from "../../../../bench/conformance/templates/conversations.ts";
import type { OracleJob, Rendering } from "../../../../bench/conformance/templates/jinja-oracle.ts";
import { runTemplateSuite, templateRows } from "../../../../bench/conformance/templates/template-suite.ts";

const ROLES = "{% for message in messages %}{{ message.role }};{% endfor %}";

/** Renders ROLES, and refuses conversations of one message. */
function roles(jobs: readonly OracleJob[]): Rendering[] {
  return jobs.map(({ variables }) => {
    const messages = variables.messages as { role: string }[];
    if (messages.length === 1) return { refused: "too few" };
    return { text: messages.map(({ role }) => `${role};`).join("") };
  });
}

test("renderings are counted by template, and each difference is named with both texts", async () => {
  const directory = mkdtempSync(join(tmpdir(), "nightshift-templates-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  writeFileSync(join(directory, "roles.jinja"), ROLES);
  writeFileSync(join(directory, "wrong.jinja"), `${ROLES}!`);
  writeFileSync(join(directory, "README.md"), "no template");
  const suite = await runTemplateSuite(directory, null, roles);
  const all = CONVERSATIONS.length;
  const short = CONVERSATIONS.filter(({ messages }) => messages.length === 1).length;
  const [right, wrong, total] = templateRows(suite!).map((row) => row.slice(0, 5));
  expect(right).toEqual(["roles", ...[all, all - short, all - short, short].map(String)]);
  expect(wrong).toEqual(["wrong", ...[all, all - short, 0, short].map(String)]);
  expect(total!.slice(0, 2)).toEqual(["all", String(2 * all)]);
  expect(suite!.interpreter).toHaveLength(all - short);
  expect(suite!.interpreter[0]).toMatchObject({ template: "wrong", here: "system;user;!", there: "system;user;" });
  expect(suite!.choices).toBeNull();
});

test("no template is counted without Jinja2", async () => {
  const directory = mkdtempSync(join(tmpdir(), "nightshift-templates-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  expect(await runTemplateSuite(directory, null, () => null)).toBeNull();
});
