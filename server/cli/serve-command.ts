import { serve } from "../main.ts";
import { readOptions } from "../options/read.ts";

export async function serveCommand(flags: Record<string, unknown>): Promise<void> {
  await serve(await readOptions(flags, process.env, process.cwd()));
}
