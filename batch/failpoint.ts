/**
 * Places where the process can be told to die, so that tests can show what a crash there leaves behind. Armed by
 * NIGHTSHIFT_FAILPOINTS, a comma-separated list of `name` or `name:n` (die when it is passed for the n-th time).
 * (`engine.…` is the engine process's, `validation.…` the validation process's.) Not armed, passing one costs a look into
 * an empty map.
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

const armed = new Map<string, number>(
  (process.env.NIGHTSHIFT_FAILPOINTS ?? "")
    .split(",")
    .filter((text) => text !== "")
    .map((text) => {
      const [name = "", count = "1"] = text.split(":");
      return [name, Number(count)];
    }),
);

export function failpoint(name: Failpoint): void {
  if (armed.size === 0) return;
  const left = (armed.get(name) ?? 0) - 1;
  armed.set(name, left);
  // As a power cut would: no handler runs, nothing is flushed.
  if (left === 0) process.kill(process.pid, "SIGKILL");
}
