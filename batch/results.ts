import { createHash } from "node:crypto";
import type { BatchRow } from "../store/batch-row.ts";
import type { FileRow } from "../store/files.ts";
import type { ResultKind, ResultRow } from "../store/results.ts";
import type { Store } from "../store/store.ts";
import { failpoint } from "./failpoint.ts";
import type { FileRoom } from "./files.ts";

export interface ResultsDeps {
  store: Pick<Store, "results">;
  files: Pick<FileRoom, "write" | "place" | "check" | "withdraw">;
}

const PAGE_ROWS = 500;
const PAGE_CHARS = 512 * 1024;

/**
 * Writes one of a batch's two files from its result rows, a page in memory at a time: durable, in place, and read back
 * against its checksum. The row is the caller's to insert. Null when there is nothing to write: no empty files.
 */
export async function writeResults(deps: ResultsDeps, batch: BatchRow, kind: ResultKind): Promise<FileRow | null> {
  const { store, files } = deps;
  const counts = await store.results.counts({ batchId: batch.id });
  const expected = counts.find((entry) => entry.kind === kind)?.count ?? 0;
  if (expected === 0) return null;
  let written = 0;
  async function* pages() {
    for (let after = 0, end = false; !end; ) {
      const page = await store.results.page({ batchId: batch.id, kind, after, limit: PAGE_ROWS, maxChars: PAGE_CHARS });
      written += page.rows.length;
      yield Buffer.from(page.rows.map((row) => resultLine(batch.id, row)).join(""));
      after = page.rows.at(-1)?.number ?? after;
      end = page.end;
    }
  }
  const incoming = await files.write(pages(), { reserve: false });
  failpoint("finalize.written");
  const file = await files.place(incoming, {
    owner: batch.owner,
    purpose: "batch_output",
    filename: `${batch.id}_${kind}.jsonl`,
    expiresAfter: expirySeconds(batch),
  });
  failpoint("finalize.placed");
  if (written === expected && (await files.check(file))) return file;
  await files.withdraw(file);
  throw new Error(
    `The ${kind} file of ${batch.id} has ${written} of ${expected} lines, or was not read back as written`,
  );
}

/** One line of a result file. The body is JSON text already and goes in as it is: an object, never a string. */
export function resultLine(batchId: string, { number, customId, requestId, statusCode, body }: ResultRow): string {
  const head = `{"id":"${requestLineId(batchId, number)}","custom_id":${JSON.stringify(customId)}`;
  if (statusCode === null) return `${head},"response":null,"error":${body}}\n`;
  const response = `{"status_code":${statusCode},"request_id":${JSON.stringify(requestId)},"body":${body}}`;
  return `${head},"response":${response},"error":null}\n`;
}

/** The same for every time that the file is written. */
function requestLineId(batchId: string, number: number): string {
  return `batch_req_${createHash("sha256").update(`${batchId}/${number}`).digest("hex").slice(0, 32)}`;
}

function expirySeconds({ outputExpiresAfter }: BatchRow): number | null {
  if (outputExpiresAfter === null) return null;
  const { seconds }: { seconds: number } = JSON.parse(outputExpiresAfter);
  return seconds;
}
