import { isIP } from "node:net";
import { endpointProblem } from "../../webhooks/endpoint.ts";
import { OptionsError } from "./options-error.ts";
import type { Options } from "./table.ts";

/** What options must hold together. Throws OptionsError for the first rule that is broken. */
export function checkRules(options: Options): void {
  if (options.apiKeys === "off" && !isLoopback(options.host)) {
    throw new OptionsError(
      `--host ${options.host} can be reached from other machines, and without API keys anyone there could use the ` +
        "models. Leave --api-keys away, and the first start prints an administrator's key; or listen on 127.0.0.1.",
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

/** 127.0.0.0/8 (RFC 1122), ::1, and the name that RFC 6761 reserves for them. */
export function isLoopback(host: string): boolean {
  const address = host.replace(/^\[(.*)\]$/, "$1").toLowerCase();
  if (address === "localhost" || address === "::1") return true;
  if (address.startsWith("::ffff:")) return isLoopback(address.slice(7));
  return isIP(address) === 4 && address.startsWith("127.");
}
