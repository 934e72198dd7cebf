import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { createInterface } from "node:readline/promises";
import { z } from "zod";
import { type Batch, batch, batchList } from "../../../openapi/resources/batches.ts";
import { fileDeleted } from "../../../openapi/resources/files.ts";
import { OptionsError } from "../../../platform/options-error.ts";
import { type ApiClient, Interrupted } from "../client/api-client.ts";
import { uploadFile } from "../files-command.ts";
import type { BatchCommandDeps } from "./batch-command-deps.ts";

export interface SubmitFlags {
  url?: string;
  endpoint?: string;
  metadata?: Record<string, string>;
  json?: boolean;
}

/** The metadata key of the fingerprint by which `batch run` finds an earlier batch of the same input. */
const FINGERPRINT = "nightshift_run";
/** Number of the newest batches that are searched for an earlier run. */
const SEARCHED_BATCHES = 100;

/** Uploads the file and creates a batch. An interrupt before the batch exists leaves nothing on the server. */
export async function submit(
  client: ApiClient,
  path: string,
  flags: SubmitFlags,
  deps: BatchCommandDeps,
): Promise<Batch> {
  const endpoint = flags.endpoint ?? (await endpointOf(path));
  const { id } = await uploadFile(client, path, { purpose: "batch" }, deps);
  if (deps.interrupted.aborted) {
    await client.lasting().call("DELETE", `files/${encodeURIComponent(id)}`, fileDeleted);
    throw new Interrupted();
  }
  const body = { input_file_id: id, endpoint, completion_window: "24h", metadata: flags.metadata ?? null };
  // Not interruptible, so that the command has the answer on whether the batch exists.
  return client.lasting().call("POST", "batches", batch, body);
}

/** The same, unless an equal run has a batch that did not fail; then returns the newest of those. */
export async function submitOnce(
  client: ApiClient,
  path: string,
  flags: SubmitFlags,
  deps: BatchCommandDeps,
): Promise<{ batch: Batch; again: boolean }> {
  const endpoint = flags.endpoint ?? (await endpointOf(path));
  const metadata = { ...flags.metadata, [FINGERPRINT]: await fingerprint(path, endpoint, flags.metadata) };
  const { data } = await client.call("GET", `batches?limit=${SEARCHED_BATCHES}`, batchList);
  const earlier = data.find(
    (one) => one.metadata?.[FINGERPRINT] === metadata[FINGERPRINT] && !GIVEN_UP.includes(one.status),
  );
  if (earlier !== undefined) return { batch: earlier, again: true };
  return { batch: await submit(client, path, { ...flags, endpoint, metadata }, deps), again: false };
}

const GIVEN_UP: readonly Batch["status"][] = ["failed", "expired", "cancelling", "cancelled"];

async function fingerprint(path: string, endpoint: string, metadata: Record<string, string> = {}): Promise<string> {
  const hash = createHash("sha256").update(JSON.stringify([endpoint, Object.entries(metadata).sort()]));
  await reading(path, async () => {
    for await (const chunk of createReadStream(path)) hash.update(chunk);
  });
  return hash.digest("hex");
}

/** The url of the first line. The server checks all lines. */
async function endpointOf(path: string): Promise<string> {
  const line = await firstLine(path);
  if (line === null) throw new OptionsError(`${path} is empty: a batch has one request per line.`);
  let request: unknown;
  try {
    request = JSON.parse(line.replace(/^\uFEFF/, ""));
  } catch {
    throw new OptionsError(`The first line of ${path} is not JSON. Each line of the file must be one whole request.`);
  }
  const named = z.object({ url: z.string() }).safeParse(request);
  if (!named.success) throw new OptionsError(`The first line of ${path} has no url. Set it with --endpoint.`);
  return named.data.url;
}

/** The first line that is not blank; null if all are. */
function firstLine(path: string): Promise<string | null> {
  return reading(path, async () => {
    const lines = createInterface({ input: createReadStream(path) });
    try {
      for await (const line of lines) if (line.trim() !== "") return line;
      return null;
    } finally {
      lines.close();
    }
  });
}

async function reading<T>(path: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    throw new OptionsError(`${path} cannot be read: ${error instanceof Error ? error.message : error}`);
  }
}
