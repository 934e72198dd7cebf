import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { programUrl } from "../../platform/installation.ts";
import { type ChildServer, startChild } from "./child-server.ts";

export const CLI = fileURLToPath(programUrl("server/cli"));

export interface OwnServer extends ChildServer {
  dataDir: string;
}

/**
 * Starts this project's server with models (GGUF files by name), and waits until it is ready. Its data directory is new, and
 * filled by `fill` before the start.
 */
export async function startServer(
  models: Readonly<Record<string, string>>,
  options: string[],
  fill: (dataDir: string) => Promise<void> = async () => {},
): Promise<OwnServer> {
  const dataDir = mkdtempSync(join(tmpdir(), "nightshift-bench-"));
  await fill(dataDir);
  const command = (port: number) => {
    const files = Object.entries(models).flatMap(([name, gguf]) => ["--model", `${name}=${gguf}`]);
    const own = ["--port", String(port), "--data-dir", dataDir];
    return [process.execPath, CLI, "serve", ...files, ...own, ...options];
  };
  const child = await startChild(command, "/ready?strict", () => rmSync(dataDir, { recursive: true, force: true }));
  return { ...child, dataDir };
}
