import type { IncomingMessage } from "node:http";

/** Who everything belongs to while API keys are off. */
export const LOCAL_OWNER = "local";

/** Whose files, batches and usage a request is about. */
export function ownerOf(_req: IncomingMessage): string {
  return LOCAL_OWNER;
}
