import type { Log } from "../../platform/log.ts";

export interface ClosingPart {
  /** For the log. */
  name: string;
  close(): unknown;
}

/** Closes parts one after the other, each whatever became of those before. Throws at the end when one failed. */
export async function closeInOrder(parts: readonly ClosingPart[], log: Log): Promise<void> {
  const failed: string[] = [];
  for (const { name, close } of parts) {
    try {
      await close();
    } catch (error) {
      log.error({ err: error, part: name }, "A part of the server could not be closed");
      failed.push(name);
    }
  }
  if (failed.length > 0) throw new Error(`not closed: ${failed.join(", ")}`);
}
