import { request } from "undici";
import { OptionsError } from "../../platform/options-error.ts";
import { readOptions } from "../options/read.ts";

const TIMEOUT_MS = 4000;

/** Checks that the server with these options answers. Throws OptionsError (exit code 1) otherwise. */
export async function healthCommand(flags: Record<string, unknown>): Promise<void> {
  const { host, port } = await readOptions(flags, process.env, process.cwd());
  await checkHealth(host, port);
}

/** A server that listens on every address is checked on loopback. */
export async function checkHealth(host: string, port: number): Promise<void> {
  const address = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host;
  const url = `http://${address.includes(":") ? `[${address}]` : address}:${port}/health`;
  const timeouts = { headersTimeout: TIMEOUT_MS, bodyTimeout: TIMEOUT_MS };
  const answer = await request(url, timeouts).catch((error: unknown) => {
    throw new OptionsError(`${url} does not answer (${error instanceof Error ? error.message : String(error)}).`);
  });
  await answer.body.dump();
  if (answer.statusCode !== 200) throw new OptionsError(`${url} answers with status ${answer.statusCode}.`);
}
