import { z } from "zod";
import { OptionsError } from "../../platform/options-error.ts";
import { type OptionsFile, readOptionsFile } from "./file.ts";
import type { Kind } from "./kinds/kind.ts";
import { flagName, variableName } from "./name.ts";
import { checkRules } from "./rules.ts";
import { OPTION_KEYS, OPTIONS, type OptionKey, type Options } from "./table.ts";

/** The sources of options. */
export interface Sources {
  /** Values of the command line by key, as typed; a list for repeatable options. */
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

/** Flag beats environment beats file beats default. Throws OptionsError with the source of the first invalid value. */
export function resolveOptions(sources: Sources): Options {
  const resolved = Object.fromEntries(OPTION_KEYS.map((key) => [key, resolve(key, sources)]));
  // Each value came through the schema of its own row, which is what Options is made of.
  return resolved as Options;
}

function resolve(key: OptionKey, sources: Sources): unknown {
  const { kind, default: fallback }: { kind: Kind<unknown>; default: unknown } = OPTIONS[key];
  const settings = written(key, kind, sources);
  const first = settings[0];
  if (!kind.over) return first === undefined ? fallback : parse(kind, kind.schema, first);
  let value = fallback;
  for (const setting of settings.reverse()) value = parse(kind, kind.over(value), setting);
  return value;
}

/** The value of one source, and the name of the source. */
interface Setting {
  source: string;
  value: unknown;
}

/** The sources that set an option, highest precedence first. */
function written(key: OptionKey, kind: Kind<unknown>, { flags, env, file }: Sources): Setting[] {
  const settings: Setting[] = [];
  if (!kind.fileOnly) {
    if (flags[key] !== undefined && !kind.environmentOnly) settings.push({ source: flagName(key), value: flags[key] });
    const variable = variableName(key);
    const set = env[variable];
    // An empty variable counts as unset: compose files pass unset variables on as empty ones.
    if (set !== undefined && set.trim() !== "")
      settings.push({ source: variable, value: kind.list ? split(set) : set });
  }
  const value = kind.environmentOnly ? undefined : file?.values.get(key);
  if (file && value !== undefined && value !== null) {
    const line = file.lines?.get(key);
    settings.push({ source: `"${key}" in ${file.path}${line === undefined ? "" : `, line ${line},`}`, value });
  }
  return settings;
}

function split(values: string): string[] {
  // `\\,` is a comma within a value, such as a path.
  return values
    .split(/(?<!\\),|\n/)
    .map((value) => value.replaceAll("\\,", ",").trim())
    .filter((value) => value !== "");
}

function parse<T>(kind: Kind<T>, schema: z.ZodType<T>, { source, value }: Setting): T {
  const result = z.safeParse(schema, value);
  if (result.success) return result.data;
  // The reason stands first where it has a place in the file: what is allowed may be long.
  if (kind.nested && typeof value === "object" && result.error.issues.every(({ path }) => path.length > 0))
    throw new OptionsError(`${source.replace(/,$/, "")}: ${places(result.error)}. It must be ${kind.allowed}.`);
  if (kind.nested) throw new OptionsError(`${source} must be ${kind.allowed}: ${places(result.error)}.`);
  const shown = typeof value === "string" ? value : JSON.stringify(value);
  throw new OptionsError(`${source} must be ${kind.allowed}; it is ${JSON.stringify(String(shown).slice(0, 200))}.`);
}

/** `0.secret: why; gpu.timeouts.connect: why` */
function places(error: z.ZodError): string {
  return error.issues
    .map(({ path, message }) => [...(path.length > 0 ? [path.join(".")] : []), message].join(": "))
    .join("; ");
}
