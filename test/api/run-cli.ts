import { spawn } from "node:child_process";
import { once } from "node:events";
import { CLI } from "./server.ts";

/** Runs a command of the built `nightshift` to its end. */
export async function runCli(...args: string[]): Promise<{ code: number | null; output: string }> {
  const child = spawn(process.execPath, [CLI, ...args], { stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (output += String(chunk)));
  const [code] = await once(child, "close");
  return { code, output };
}
