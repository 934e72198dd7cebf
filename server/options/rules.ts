import { isIP } from "node:net";
import { endpointProblem } from "../../webhooks/endpoint.ts";
import { OptionsError } from "./options-error.ts";
import type { Options } from "./table.ts";

/** What options must hold together. Throws OptionsError for the first rule that is broken. */
export function checkRules(options: Options): void {
  if (options.apiKeys === "on") {
    throw new OptionsError(
      "API keys are not available yet in this version, so --api-keys on would protect nothing. " +
        "Leave it off and listen on loopback; put a proxy that checks credentials in front to serve other machines.",
    );
  }
  if (!isLoopback(options.host)) {
    throw new OptionsError(
      `--host ${options.host} can be reached from other machines, and without API keys anyone there could use the ` +
        "models. API keys are not available yet in this version: listen on 127.0.0.1 and put a proxy that checks " +
        "credentials in front.",
    );
  }
  for (const [index, { url }] of options.webhooks.entries()) {
    const problem = endpointProblem(url, options.webhookAllowPrivate === "on");
    if (problem !== null) throw new OptionsError(`The url of webhooks, entry ${index + 1}, ${problem}.`);
  }
}

/** 127.0.0.0/8 (RFC 1122), ::1, and the name that RFC 6761 reserves for them. */
export function isLoopback(host: string): boolean {
  const address = host.replace(/^\[(.*)\]$/, "$1").toLowerCase();
  if (address === "localhost" || address === "::1") return true;
  if (address.startsWith("::ffff:")) return isLoopback(address.slice(7));
  return isIP(address) === 4 && address.startsWith("127.");
}
