import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { readOptions } from "../../../../server/options/read.ts";
import { aliasesWithRoutes } from "../../../../server/routing/configured-routes.ts";

const ROUTE = { models: ["small", "big"], rules: [], choose: "first" as const, overflow: [] };
const names = (route: string) =>
  aliasesWithRoutes({ alias: { usual: "big" }, routes: { [route]: ROUTE } }, ["small", "big"]);

test("a route's name stands for its first model", () => {
  expect(names("chat")).toEqual({ usual: "big", chat: "small" });
});

test.each([
  ["small", "a model"],
  ["usual", "an alias"],
])("a route with the name of another thing is refused, and the message says what to do: %s", (route, other) => {
  expect(() => names(route)).toThrow(`The route '${route}' has the name of ${other}: rename one of them`);
});

test("the overflow that true stands for is that to another model", async () => {
  expect(await routesOf("routes: { chat: { models: [a, b], overflow: true } }")).toMatchObject({
    chat: { overflow: ["model"] },
  });
});

test.each(["[flex, flex]", "[batch]"])("an overflow of other steps is refused: %s", async (steps) => {
  await expect(routesOf(`routes: { chat: { models: [a, b], overflow: ${steps} } }`)).rejects.toThrow("overflow");
});

test.each([
  ["overflow: [modle]", 'chat.overflow.0: Invalid option: expected one of "model"|"flex"'],
  ["rules: [{ when: { hours: '25:00-07:00' }, model: a }]", 'the window "25:00-07:00" has no time 25:00'],
  ["rules: [{ when: { tiers: batch }, model: a }]", "chat.rules.0.when.tiers.0: Invalid option: expected one of"],
])("an error of a route begins with its place and its reason: %s", async (setting, reason) => {
  const reading = routesOf(`routes: { chat: { models: [a, b], ${setting} } }`);
  await expect(reading).rejects.toThrow(/"routes" in \S+, line 1: chat\./);
  await expect(reading).rejects.toThrow(reason);
});

const EXAMPLES = [...readFileSync("docs/routes.md", "utf8").matchAll(/```yaml\n([\s\S]*?)```/g)].map(
  ([, yaml]) => yaml!,
);

test.each(EXAMPLES)("an example of the documents is a valid file", async (yaml) => {
  expect(await routesOf(yaml)).toMatchObject({ chat: { choose: "cheapest", overflow: ["model", "flex"] } });
});

/** The routes of a configuration file. */
async function routesOf(yaml: string) {
  const folder = mkdtempSync(join(tmpdir(), "nightshift-routes-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "nightshift.yaml"), yaml);
  return (await readOptions({}, {}, folder)).routes;
}
