import { z } from "zod";
import { type OptionsFile, readOptionsFile } from "./file.ts";
import type { Kind } from "./kind.ts";
import { flagName, variableName } from "./name.ts";
import { OptionsError } from "./options-error.ts";
import { checkRules } from "./rules.ts";
import { OPTION_KEYS, OPTIONS, type OptionKey, type Options } from "./table.ts";

/** Where options may come from. */
export interface Sources {
  /** What the command line set, by key; text as it was typed, a list for what may be repeated. */
  flags: Readonly<Record<string, unknown>>;
  env: Readonly<Record<string, string | undefined>>;
  file: OptionsFile | null;
}

/** Reads the file (`--config`, NIGHTSHIFT_CONFIG or ./nightshift.yaml) and resolves every option. Throws OptionsError. */
export async function readOptions(
  flags: Readonly<Record<string, unknown>>,
  env: Readonly<Record<string, string | undefined>>,
  workingDir: string,
): Promise<Options> {
  const named = typeof flags.config === "string" ? flags.config : env.NIGHTSHIFT_CONFIG || undefined;
  const options = resolveOptions({ flags, env, file: await readOptionsFile(named, workingDir) });
  checkRules(options);
  return options;
}

/** Flag beats environment beats file beats default. Throws OptionsError naming the source of the first bad value. */
export function resolveOptions(sources: Sources): Options {
  const resolved = Object.fromEntries(OPTION_KEYS.map((key) => [key, resolve(key, sources)]));
  // Each value came through the schema of its own row, which is what Options is made of.
  return resolved as Options;
}

function resolve(key: OptionKey, { flags, env, file }: Sources): unknown {
  const kind: Kind<unknown> = OPTIONS[key].kind;
  if (flags[key] !== undefined) return parse(kind, flagName(key), flags[key]);
  const variable = variableName(key);
  const set = env[variable];
  // An empty variable is an unset one: that is how compose files pass on what nobody set.
  if (set !== undefined && set.trim() !== "") return parse(kind, variable, kind.list ? split(set) : set);
  const written = file?.values.get(key);
  if (file && written !== undefined && written !== null) return parse(kind, `"${key}" in ${file.path}`, written);
  return OPTIONS[key].default;
}

function split(values: string): string[] {
  return values
    .split(",")
    .map((value) => value.trim())
    .filter((value) => value !== "");
}

function parse<T>(kind: Kind<T>, source: string, value: unknown): T {
  const result = z.safeParse(kind.schema, value);
  if (result.success) return result.data;
  const shown = typeof value === "string" ? value : JSON.stringify(value);
  throw new OptionsError(`${source} must be ${kind.allowed}; it is ${JSON.stringify(String(shown).slice(0, 200))}.`);
}
