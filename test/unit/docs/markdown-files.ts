import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

/** All documents of the project by their paths. */
export const DOCUMENTS: ReadonlyMap<string, string> = new Map(
  ["", "docs", "bench", "scripts", "deploy"].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: folder !== "", encoding: "utf8" })
      .filter((name) => name.endsWith(".md"))
      .map((name): [string, string] => [join(folder, name), readFileSync(join(ROOT, folder, name), "utf8")]),
  ),
);
