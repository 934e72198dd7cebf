import { readFileSync } from "node:fs";
import { join } from "node:path";
import { OptionsError } from "../../platform/options-error.ts";
import type { Kind } from "./kinds/kind.ts";
import { fileKey } from "./name.ts";
import { nearest } from "./nearest.ts";
import { OPTION_KEYS, OPTIONS } from "./table.ts";

export const FILE_NAME = "nightshift.yaml";

export interface OptionsFile {
  /** As the user wrote it. */
  path: string;
  values: Map<string, unknown>;
  /** The line of each key, from 1. */
  lines?: ReadonlyMap<string, number>;
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
  return { path, ...(await parse(path, source)) };
}

async function parse(path: string, source: string): Promise<Omit<OptionsFile, "path">> {
  // The parser is loaded only if there is a file.
  const { isMap, isScalar, LineCounter, parseDocument } = await import("yaml");
  const lineCounter = new LineCounter();
  const document = parseDocument(source, { lineCounter, merge: true });
  const [fault] = document.errors;
  if (fault !== undefined) throw new OptionsError(`${path} is not valid YAML: ${fault.message}`);
  // An empty file, or one of comments alone, sets nothing.
  if (document.contents === null) return { values: new Map() };
  if (!isMap(document.contents)) {
    throw new OptionsError(`${path} must hold a map of options, such as "port: 8080".`);
  }
  const lines = new Map<string, number>();
  for (const { key } of document.contents.items) {
    if (isScalar(key) && key.range) lines.set(String(key.value), lineCounter.linePos(key.range[0]).line);
  }
  const values = new Map<string, unknown>(Object.entries(asObject(path, () => document.toJS({ maxAliasCount: 100 }))));
  const known = OPTION_KEYS.filter((key) => !isOfEnvironment(OPTIONS[key].kind));
  for (const key of values.keys()) {
    if (known.some((name) => name === key)) continue;
    // Keys for YAML anchors of `<<`, as in compose files.
    if (key.startsWith("x-")) continue;
    const near = nearest(fileKey(key), known);
    const at = lines.has(key) ? `, line ${lines.get(key)}` : "";
    throw new OptionsError(
      `${path}${at}: there is no option "${key}".${near === null ? "" : ` Did you mean "${near}"?`}`,
    );
  }
  return { values, lines };
}

/** Too many aliases and aliases without an anchor are errors only when they are resolved. */
function asObject(path: string, read: () => unknown): object {
  try {
    return Object(read());
  } catch (error) {
    throw new OptionsError(`${path} is not valid YAML: ${(error as Error).message}`);
  }
}

function isOfEnvironment({ environmentOnly }: Kind<unknown>): boolean {
  return environmentOnly === true;
}
