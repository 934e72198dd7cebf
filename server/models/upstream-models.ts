import { readFile } from "node:fs/promises";
import type { UpstreamConfig } from "../../engine/upstream/dialect/upstream-config.ts";
import { OptionsError } from "../../platform/options-error.ts";
import type { UpstreamSetting } from "../options/kinds/upstream-kind.ts";
import type { Options } from "../options/table.ts";

/** The objective between two tokens where auto would derive it from measured steps, which upstreams do not report. */
const AUTO_ITL_MS = 200;
const MOST_KEY_BYTES = 16_384;

/** The upstreams of the options, with their API keys. Throws OptionsError for a key that is not there. */
export function upstreamConfigs(
  { upstream, sloTtftMs, sloItlMs, cacheScope }: Pick<Options, "upstream" | "sloTtftMs" | "sloItlMs" | "cacheScope">,
  env: Readonly<Record<string, string | undefined>>,
): Promise<UpstreamConfig[]> {
  const objectives = {
    sloTtftMs,
    sloItlMs: sloItlMs === "auto" ? AUTO_ITL_MS : sloItlMs,
  };
  return Promise.all(
    upstream.map(async ({ apiKeyEnv, apiKeyFile, ...setting }) => ({
      ...setting,
      ...objectives,
      cacheScope,
      apiKey: await apiKeyOf({ name: setting.name, apiKeyEnv, apiKeyFile }, env),
    })),
  );
}

async function apiKeyOf(
  { name, apiKeyEnv, apiKeyFile }: Pick<UpstreamSetting, "name" | "apiKeyEnv" | "apiKeyFile">,
  env: Readonly<Record<string, string | undefined>>,
): Promise<string | null> {
  if (apiKeyEnv === null && apiKeyFile === null) return null;
  const from = apiKeyEnv === null ? `file ${apiKeyFile}` : `environment variable ${apiKeyEnv}`;
  const key = (apiKeyEnv === null ? await textOf(apiKeyFile ?? "") : env[apiKeyEnv])?.trim();
  if (key === undefined || key === "" || /[^\x21-\x7e]/.test(key)) {
    throw new OptionsError(`The upstream '${name}' takes its API key from the ${from}, which has none.`);
  }
  return key;
}

async function textOf(path: string): Promise<string | undefined> {
  try {
    return (await readFile(path, "utf8")).slice(0, MOST_KEY_BYTES);
  } catch {
    return undefined;
  }
}
