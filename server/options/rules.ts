import { isLoopback } from "../../platform/loopback.ts";
import { OptionsError } from "../../platform/options-error.ts";
import { endpointProblem } from "../../webhooks/endpoint.ts";
import type { Options } from "./table.ts";

/** `local pages`: it is served, and pages of this machine may call it. */
export type OllamaAccess = "off" | "on" | "local pages";

/** Rules between options. Throws OptionsError for the first broken rule. */
export function checkRules(options: Options): void {
  if (options.apiKeys === "off" && !isLoopback(options.host)) {
    throw new OptionsError(
      `--host ${options.host} can be reached from other machines, where anyone could use the models without an API key. ` +
        "Remove --api-keys, and the first start prints an administrator's key; or listen on 127.0.0.1.",
    );
  }
  if (options.uds !== null && !isLoopback(options.host)) {
    throw new OptionsError(
      `--uds is listened on in place of --host ${options.host}: remove --host. A proxy in front of the socket serves others: ` +
        "--api-keys on makes every client send a key.",
    );
  }
  if (options.serveModelsDir === "on" && options.keepAlive === null) {
    throw new OptionsError(
      "--serve-models-dir on loads models on their first request, and needs a time after which idle ones leave the memory: " +
        "set --keep-alive, such as --keep-alive 5m.",
    );
  }
  for (const [index, { url }] of options.webhooks.entries()) {
    const problem = endpointProblem(url, options.webhookAllowPrivate === "on");
    if (problem !== null) throw new OptionsError(`The url of webhooks, entry ${index + 1}, ${problem}.`);
  }
}

/** True if every client needs an API key. */
export function keysAreOn({ apiKeys, adminKey, host }: Pick<Options, "apiKeys" | "adminKey" | "host">): boolean {
  return apiKeys === null ? adminKey !== null || !isLoopback(host) : apiKeys === "on";
}

/**
 * Whether Ollama's API is served: to all, to pages of this machine as well, or not. As in Ollama, pages of this machine may
 * call it on loopback without being named.
 */
export function ollamaAccess({ ollama, host, uds }: Pick<Options, "ollama" | "host" | "uds">): OllamaAccess {
  const local = isLoopback(host) && uds === null;
  if (!(ollama === null ? local : ollama === "on")) return "off";
  return local ? "local pages" : "on";
}
