import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Kind } from "./kind.ts";
import { fileKey } from "./name.ts";
import { nearest } from "./nearest.ts";
import { OptionsError } from "./options-error.ts";
import { OPTION_KEYS, OPTIONS } from "./table.ts";

export const FILE_NAME = "nightshift.yaml";

export interface OptionsFile {
  /** As the user named it. */
  path: string;
  values: Map<string, unknown>;
}

/**
 * Reads the configuration file: the named one, which must exist, or nightshift.yaml in the working directory, which may
 * be missing (null). Throws OptionsError for what is not YAML, not a map, or holds a key that no option has.
 */
export async function readOptionsFile(named: string | undefined, workingDir: string): Promise<OptionsFile | null> {
  const path = named ?? join(workingDir, FILE_NAME);
  let source: string;
  try {
    source = readFileSync(path, "utf8");
  } catch (error) {
    if (named === undefined && (error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw new OptionsError(`Cannot read the configuration file ${path}: ${(error as Error).message}`);
  }
  return { path, values: check(path, await parse(path, source)) };
}

async function parse(path: string, source: string): Promise<unknown> {
  // Most starts have no file; they need not pay for the parser.
  const { parse: parseYaml, YAMLError } = await import("yaml");
  try {
    return parseYaml(source, { maxAliasCount: 100 });
  } catch (error) {
    if (error instanceof YAMLError) throw new OptionsError(`${path} is not valid YAML: ${error.message}`);
    throw error;
  }
}

function check(path: string, document: unknown): Map<string, unknown> {
  // An empty file, or one of comments alone, sets nothing.
  if (document === null || document === undefined) return new Map();
  if (typeof document !== "object" || Array.isArray(document)) {
    throw new OptionsError(`${path} must hold a map of options, such as "port: 8080".`);
  }
  const values = new Map<string, unknown>(Object.entries(document));
  const known = OPTION_KEYS.filter((key) => !isOfEnvironment(OPTIONS[key].kind));
  for (const key of values.keys()) {
    if (known.some((name) => name === key)) continue;
    const near = nearest(fileKey(key), known);
    throw new OptionsError(`${path}: there is no option "${key}".${near === null ? "" : ` Did you mean "${near}"?`}`);
  }
  return values;
}

function isOfEnvironment({ environmentOnly }: Kind<unknown>): boolean {
  return environmentOnly === true;
}
