import { existsSync } from "node:fs";

/**
 * Places where the process can be told to die, so that tests can show what a crash there leaves behind. Armed by
 * NIGHTSHIFT_FAILPOINTS, a comma-separated list of `name` or `name:n` (die when it is passed for the n-th time), where
 * `@PATH` may follow: passes count only while the file PATH exists.
 * (`engine.…` is the engine process's, `validation.…` the validation process's.) Not armed, passing one costs a look into
 * an empty list.
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
  | "job.input"
  | "file.unlink"
  | "erase.begun"
  | "erase.batches"
  | "erase.files";

interface Armed {
  name: string;
  /** How many passes are left. */
  left: number;
  /** Passes count while this file exists; null where they always do. */
  file: string | null;
}

const armed = (process.env.NIGHTSHIFT_FAILPOINTS ?? "")
  .split(",")
  .filter((text) => text !== "")
  .map((text): Armed => {
    const [point = "", file = null] = text.split("@");
    const [name = "", count = "1"] = point.split(":");
    return { name, left: Number(count), file };
  });

export function failpoint(name: Failpoint): void {
  for (const point of armed) {
    if (point.name !== name || (point.file !== null && !existsSync(point.file))) continue;
    point.left -= 1;
    // As a power cut would: no handler runs, nothing is flushed.
    if (point.left === 0) process.kill(process.pid, "SIGKILL");
  }
}
