import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);

export interface CeilingPlan {
  binary: string;
  gguf: string;
  threads: number | null;
  sequences: number;
  prompt: number;
  tokens: number;
}

/**
 * Generated tokens per second of llama-batched-bench, with the time for prompts included as in `tokens/s` of a load:
 * llama.cpp without a server and without sampling.
 */
export async function ceiling({ binary, gguf, threads, sequences, prompt, tokens }: CeilingPlan): Promise<number> {
  const cells = sequences * (prompt + tokens);
  const lengths = ["-npp", prompt, "-ntg", tokens, "-npl", sequences, "-c", cells, "-b", 512, "-ub", 512];
  const where = threads === null ? ["-ngl", 999] : ["-t", threads];
  const { stdout } = await run(binary, ["-m", gguf, ...lengths, ...where].map(String), { maxBuffer: 64 << 20 });
  return ceilingRate(stdout);
}

/**
 * Parses the table of llama-batched-bench: `| PP | TG | B | N_KV | T_PP s | S_PP t/s | T_TG s | S_TG t/s | T s | …`.
 */
export function ceilingRate(table: string): number {
  for (const line of table.split("\n")) {
    const [, tokens, sequences, , , , , , seconds] = line.split("|").slice(1).map(Number);
    if (tokens! > 0 && sequences! > 0 && seconds! > 0) return (tokens! * sequences!) / seconds!;
  }
  throw new Error(`llama-batched-bench printed no result: ${table.slice(0, 300)}`);
}
