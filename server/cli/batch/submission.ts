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

/** The metadata key under which `batch run` keeps what it submitted, to find it again. */
const FINGERPRINT = "nightshift_run";
/** How many of the newest batches are looked through for one of the same run. */
const LOOKED_THROUGH = 100;

/** Uploads the file and makes a batch of it. Interrupted before there is a batch, it leaves nothing on the server. */
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
  // Not to be interrupted: whether the batch exists must be known.
  return client.lasting().call("POST", "batches", batch, body);
}

/** The same, but for the newest batch of an equal run that did not fail, which is taken up again. */
export async function submitOnce(
  client: ApiClient,
  path: string,
  flags: SubmitFlags,
  deps: BatchCommandDeps,
): Promise<{ batch: Batch; again: boolean }> {
  const endpoint = flags.endpoint ?? (await endpointOf(path));
  const metadata = { ...flags.metadata, [FINGERPRINT]: await fingerprint(path, endpoint, flags.metadata) };
  const { data } = await client.call("GET", `batches?limit=${LOOKED_THROUGH}`, batchList);
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

/** What the first line names; the server checks it and all others. */
async function endpointOf(path: string): Promise<string> {
  const line = await firstLine(path);
  if (line === null) throw new OptionsError(`${path} is empty: a batch has one request per line.`);
  let request: unknown;
  try {
    request = JSON.parse(line.replace(/^\uFEFF/, ""));
  } catch {
    throw new OptionsError(`The first line of ${path} is no JSON. Each request is one line of the file, whole.`);
  }
  const named = z.object({ url: z.string() }).safeParse(request);
  if (!named.success) throw new OptionsError(`The first line of ${path} names no url. Say it with --endpoint.`);
  return named.data.url;
}

/** The first that is not blank; null when none is. */
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
