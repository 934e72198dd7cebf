import { existsSync } from "node:fs";

/**
 * Failpoints: places where a test kills the process, to show what a crash there leaves behind. NIGHTSHIFT_FAILPOINTS is
 * a comma-separated list of `name` or `name:n` (die at the n-th pass); a suffix `@PATH` counts passes only while the
 * file PATH exists. Names with the prefix `engine.` belong to the engine process, `validation.` to the validation
 * process. An unarmed pass costs one loop over an empty list.
 */
export type Failpoint =
  | "validation.begun"
  | "validate.lines"
  | "validate.indexed"
  | "claim.after"
  | "inference.after"
  | "commit.before"
  | "commit.after"
  | "finalize.begun"
  | "finalize.written"
  | "finalize.placed"
  | "finalize.before-commit"
  | "finalize.after-commit"
  | "cleanup.half"
  | "batch.input"
  | "response.said"
  | "response.answered"
  | "file.unlink"
  | "erase.begun"
  | "erase.batches"
  | "erase.files";

interface Armed {
  name: string;
  /** Passes left. */
  left: number;
  /** Passes count only while this file exists; null where they always count. */
  file: string | null;
}

/** Entries of NIGHTSHIFT_FAILPOINTS. */
export const armedFailpoints: readonly string[] = (process.env.NIGHTSHIFT_FAILPOINTS ?? "")
  .split(",")
  .filter((text) => text !== "");

const armed = armedFailpoints.map((text): Armed => {
  const [point = "", file = null] = text.split("@");
  const [name = "", count = "1"] = point.split(":");
  return { name, left: Number(count), file };
});

export function failpoint(name: Failpoint): void {
  for (const point of armed) {
    if (point.name !== name || (point.file !== null && !existsSync(point.file))) continue;
    point.left -= 1;
    // Like a power cut: no handler runs, nothing is flushed.
    if (point.left === 0) process.kill(process.pid, "SIGKILL");
  }
}
