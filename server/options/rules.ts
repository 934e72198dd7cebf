import { isLoopback } from "../../platform/loopback.ts";
import { OptionsError } from "../../platform/options-error.ts";
import { endpointProblem } from "../../webhooks/endpoint.ts";
import type { Options } from "./table.ts";

/** What options must hold together. Throws OptionsError for the first rule that is broken. */
export function checkRules(options: Options): void {
  if (options.apiKeys === "off" && !isLoopback(options.host)) {
    throw new OptionsError(
      `--host ${options.host} can be reached from other machines, and without API keys anyone there could use the ` +
        "models. Leave --api-keys out, and the first start prints an administrator's key; or listen on 127.0.0.1.",
    );
  }
  for (const [index, { url }] of options.webhooks.entries()) {
    const problem = endpointProblem(url, options.webhookAllowPrivate === "on");
    if (problem !== null) throw new OptionsError(`The url of webhooks, entry ${index + 1}, ${problem}.`);
  }
}

/** Whether every client needs an API key. */
export function keysAreOn({ apiKeys, adminKey, host }: Pick<Options, "apiKeys" | "adminKey" | "host">): boolean {
  return apiKeys === null ? adminKey !== null || !isLoopback(host) : apiKeys === "on";
}
