import { createHash } from "node:crypto";
import type { FileStore } from "../../files/file-store.ts";
import { failpoint } from "../../platform/failpoint.ts";
import type { Log } from "../../platform/log.ts";
import type { Store } from "../../store/store.ts";
import type { FileRow } from "../../store/tables/files.ts";
import type { ResultKind, ResultRow } from "../../store/tables/results.ts";
import type { BatchRow } from "../../store/types/batch-row.ts";

export interface ResultsDeps {
  store: Pick<Store, "results">;
  files: Pick<FileStore, "write" | "place" | "check" | "withdraw">;
}

const PAGE_ROWS = 500;
const PAGE_CHARS = 512 * 1024;

/**
 * Writes one of a batch's two files from its result rows, a page in memory at a time: durable, in place, and read back
 * against its checksum. The row is the caller's to insert. Null when there is nothing to write: no empty files. Rejects with
 * an AbortError when the signal aborts before the end, and nothing stays.
 */
export async function writeResults(
  deps: ResultsDeps,
  batch: BatchRow,
  kind: ResultKind,
  signal: AbortSignal,
): Promise<FileRow | null> {
  const { store, files } = deps;
  const expected = await store.results.count({ batchId: batch.id, kind });
  if (expected === 0) return null;
  const text = new ResultText(store, batch.id, kind, signal);
  const incoming = await files.write(text.pages(), { reserve: false });
  failpoint("finalize.written");
  const file = await files.place(incoming, {
    owner: batch.owner,
    purpose: "batch_output",
    filename: `${batch.id}_${kind}.jsonl`,
    expiresAfter: expirySeconds(batch),
  });
  failpoint("finalize.placed");
  let whole = false;
  try {
    whole = text.lines === expected && (await files.check(file, signal));
  } finally {
    if (!whole) await files.withdraw(file);
  }
  if (whole) return file;
  throw new Error(
    `The ${kind} file of ${batch.id} has ${text.lines} of ${expected} lines, or was not read back as written`,
  );
}

export interface RestoreDeps {
  store: Pick<Store, "results" | "files">;
  files: Pick<FileStore, "check" | "write" | "restore">;
  log: Log;
}

/**
 * Before the rows of a terminal batch go: they are the second copy of its files, and equal rows make equal bytes. A file
 * that vanished or changed since it was checked is written once more.
 */
export async function restoreResults(
  { store, files, log }: RestoreDeps,
  batch: BatchRow,
  signal: AbortSignal,
): Promise<void> {
  const { id: batchId, owner, outputFileId, errorFileId } = batch;
  for (const [kind, id] of [["output", outputFileId] as const, ["error", errorFileId] as const]) {
    // Without its row the file was deleted, by its owner or at its time, and its results with it.
    const row = id === null ? null : await store.files.get({ owner, id });
    if (row === null || (await files.check(row, signal))) continue;
    if (!(await store.files.hasResults({ id: row.id }))) continue;
    const incoming = await files.write(new ResultText(store, batchId, kind, signal).pages(), { reserve: false });
    if (await files.restore(incoming, row)) {
      log.warn({ batch: batchId, file: row.id }, "A result file was gone or damaged; it is written anew");
    } else {
      log.error({ batch: batchId, file: row.id }, "A result file is lost: a part of its rows was removed before");
    }
  }
}

/** The lines of one result file, in pages. */
class ResultText {
  lines = 0;
  readonly #store: Pick<Store, "results">;
  readonly #batchId: string;
  readonly #kind: ResultKind;
  readonly #signal: AbortSignal;

  constructor(store: Pick<Store, "results">, batchId: string, kind: ResultKind, signal: AbortSignal) {
    this.#store = store;
    this.#batchId = batchId;
    this.#kind = kind;
    this.#signal = signal;
  }

  async *pages(): AsyncGenerator<Uint8Array> {
    const bounds = { batchId: this.#batchId, kind: this.#kind, limit: PAGE_ROWS, maxChars: PAGE_CHARS };
    for (let after = 0, end = false; !end; ) {
      this.#signal.throwIfAborted();
      const page = await this.#store.results.page({ ...bounds, after });
      this.lines += page.rows.length;
      yield Buffer.from(page.rows.map((row) => resultLine(this.#batchId, row)).join(""));
      after = page.rows.at(-1)?.number ?? after;
      end = page.end;
    }
  }
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
