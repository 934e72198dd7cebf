import { resolve } from "node:path";
import { Agent, request } from "undici";
import { OptionsError } from "../../platform/options-error.ts";
import { readOptions } from "../options/read.ts";
import type { Options } from "../options/table.ts";

const TIMEOUT_MS = 4000;

/** Checks that the server with these options answers. Throws OptionsError (exit code 1) otherwise. */
export async function healthCommand(flags: Record<string, unknown>): Promise<void> {
  await checkHealth(await readOptions(flags, process.env, process.cwd()));
}

/** A server that listens on every address is checked on loopback. */
export async function checkHealth({ host, port, uds }: Pick<Options, "host" | "port" | "uds">): Promise<void> {
  const socketPath = uds === null ? null : resolve(uds);
  const address = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host;
  const tcp = `http://${address.includes(":") ? `[${address}]` : address}:${port}/health`;
  const url = socketPath === null ? tcp : "http://localhost/health";
  const dispatcher = new Agent(socketPath === null ? {} : { connect: { socketPath } });
  const server = socketPath === null ? tcp : `The server at ${socketPath}`;
  const timeouts = { headersTimeout: TIMEOUT_MS, bodyTimeout: TIMEOUT_MS };
  const answer = await request(url, { ...timeouts, dispatcher }).catch((error: unknown) => {
    throw new OptionsError(`${server} does not answer (${error instanceof Error ? error.message : String(error)}).`);
  });
  await answer.body.dump();
  if (answer.statusCode !== 200) throw new OptionsError(`${server} answers with status ${answer.statusCode}.`);
}
