import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { flagName } from "../../../../server/options/name.ts";
import { OPTION_KEYS } from "../../../../server/options/table.ts";

const root = fileURLToPath(new URL("../../../../", import.meta.url));
const page = readFileSync(join(root, "docs/operations.md"), "utf8");

/** All TypeScript of the server's parts. */
const sources = ["server", "batch", "ledger", "files", "backup", "platform", "webhooks", "engine", "store", "openapi"]
  .flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).map((file) => join(folder, file)),
  )
  .filter((file) => file.endsWith(".ts"))
  .map((file) => readFileSync(join(root, file), "utf8"))
  .join("\n");

const [, table] = page.split("## Troubleshooting");
const quoted = [...table!.matchAll(/^\| (.*?) \|/gm)].flatMap(([, cell]) => cell!.match(/`[^`]+`/g) ?? []);
const said = quoted.map((text) => text.slice(1, -1)).filter((text) => !text.startsWith("/"));

test.each(said)("the server's source contains the message: %s", (text) => {
  // Variable parts are an ellipsis.
  for (const part of text.split("…")) expect(sources).toContain(part.trim());
});

test("every flag on the page exists", () => {
  const known = new Set([...OPTION_KEYS.map(flagName), "--force", "--init", "--build-arg", "--gpus"]);
  const flags = [...page.matchAll(/--[a-z][a-z-]+/g)].map(([flag]) => flag);
  expect(flags.filter((flag) => !known.has(flag) && flag !== "--trusted-proxy")).toEqual([]);
});
