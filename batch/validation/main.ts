import { closeSync, openSync, readSync } from "node:fs";
import { failpoint } from "../../platform/failpoint.ts";
import { TimeSlices } from "../../platform/time-slices.ts";
import type { NewLines } from "../../store/types/line-row.ts";
import { validateFile } from "./validate-file.ts";
import type { FromValidation, ToValidation, ValidationJob } from "./validation-job.ts";

/** The program of the validation process (validation-process.ts): several files at a time, in time slices. */

interface Run {
  /** Chunks that may still be sent before one is stored: enough to keep the store busy, few enough for memory. */
  credit: number;
  cancelled: boolean;
  /** Called when one of the above has changed. */
  wake: () => void;
}

class Cancelled extends Error {}

/** Chunks of lines in flight at most. */
const CREDIT = 3;
/** Bytes that are read at a time. */
const CHUNK_BYTES = 256 * 1024;
/** Milliseconds between two signs of life. */
const ALIVE_MS = 5000;

const slices = new TimeSlices(() => performance.now());
const runs = new Map<number, Run>();

process.on("disconnect", () => process.exit());
process.on("message", (message: ToValidation) => {
  if (message.type === "validate") return void validate(message.id, message.job);
  const run = runs.get(message.id);
  if (run === undefined) return;
  if (message.type === "taken") run.credit++;
  else run.cancelled = true;
  run.wake();
});
setInterval(() => {
  if (runs.size > 0) post({ type: "alive" });
}, ALIVE_MS);
post({ type: "ready" });

function post(message: FromValidation): void {
  // `disconnect` follows when the server has ended.
  process.send?.(message, undefined, undefined, () => {});
}

async function validate(id: number, { path, owner, rules }: ValidationJob): Promise<void> {
  const run: Run = { credit: CREDIT, cancelled: false, wake: () => {} };
  runs.set(id, run);
  const slice = slices.join(owner);
  const pace = async () => {
    if (slice.over()) await slice.begin();
    if (run.cancelled) throw new Cancelled();
  };
  const emit = async (lines: NewLines) => {
    slice.end();
    while (run.credit === 0 && !run.cancelled) {
      await new Promise<void>((resolve) => {
        run.wake = resolve;
      });
    }
    run.credit--;
    await slice.begin();
    if (run.cancelled) throw new Cancelled();
    post({ type: "lines", id, lines });
  };
  try {
    await slice.begin();
    failpoint("validation.begun");
    post({ type: "outcome", id, outcome: await validateFile(chunksOf(path, pace), rules, emit, pace) });
  } catch (error) {
    if (!(error instanceof Cancelled)) post(failureOf(id, error));
  } finally {
    slice.leave();
    runs.delete(id);
  }
}

/** All chunks use one buffer, and none is kept: new buffers would add up to tens of megabytes between collections. */
async function* chunksOf(path: string, pace: () => Promise<void>): AsyncGenerator<Uint8Array> {
  const buffer = Buffer.allocUnsafeSlow(CHUNK_BYTES);
  const file = openSync(path, "r");
  try {
    for (let bytes = readSync(file, buffer); bytes > 0; bytes = readSync(file, buffer)) {
      yield buffer.subarray(0, bytes);
      await pace();
    }
  } finally {
    closeSync(file);
  }
}

function failureOf(id: number, error: unknown): FromValidation {
  if (error instanceof Error && "syscall" in error) return { type: "unreadable", id, message: error.message };
  const stack = error instanceof Error ? (error.stack ?? "") : "";
  const frames = stack.split("\n").filter((line) => /^\s+at /.test(line));
  return { type: "broken", id, where: [error instanceof Error ? error.name : typeof error, ...frames].join("\n") };
}
