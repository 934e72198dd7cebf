import type { Hangup } from "./lifecycle/sighup.ts";
import { serve } from "./main.ts";
import { readOptions } from "./options/read.ts";

export async function serveCommand(flags: Record<string, unknown>, hangup: Hangup): Promise<void> {
  const workingDir = process.cwd();
  const read = () => readOptions(flags, process.env, workingDir);
  await serve(await read(), read, hangup);
}
