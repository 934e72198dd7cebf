import { access } from "node:fs/promises";
import type { FileStore } from "../../files/file-store.ts";
import { batchError } from "../../openapi/resources/batch-errors.ts";
import type { BatchError } from "../../openapi/resources/batches.ts";
import type { Store } from "../../store/store.ts";
import type { FileRow } from "../../store/tables/files.ts";
import type { BatchRow } from "../../store/types/batch-row.ts";

export interface InputRowDeps {
  store: Pick<Store, "files">;
  files: Pick<FileStore, "pathOf">;
}

/** The row of a batch's input file, or the error when the file can't be opened. */
export async function inputRow(
  { store, files }: InputRowDeps,
  { owner, inputFileId: id }: BatchRow,
): Promise<FileRow | BatchError> {
  const file = await store.files.get({ owner, id });
  if (file === null) return fault(`The file '${id}' does not exist.`);
  if (file.purpose !== "batch") return fault(`The file '${id}' has not the purpose 'batch'.`);
  return (await isMissing(files.pathOf(id))) ? fault(`The content of the file '${id}' is lost.`) : file;
}

async function isMissing(path: string): Promise<boolean> {
  try {
    await access(path);
    return false;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return true;
    throw error;
  }
}

function fault(message: string): BatchError {
  return batchError("invalid_request", message, "file_id");
}
