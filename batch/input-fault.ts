import { access } from "node:fs/promises";
import type { BatchError } from "../openapi/batches.ts";
import type { BatchRow } from "../store/batch-row.ts";
import type { Store } from "../store/store.ts";
import type { FileRoom } from "./files.ts";

export interface InputFaultDeps {
  store: Pick<Store, "files">;
  files: Pick<FileRoom, "pathOf">;
}

/** Why a batch's input file cannot even be opened; null when it can. */
export async function inputFault(
  { store, files }: InputFaultDeps,
  { owner, inputFileId: id }: BatchRow,
): Promise<BatchError | null> {
  const file = await store.files.get({ owner, id });
  if (file === null) return fault(`The file '${id}' does not exist.`);
  if (file.purpose !== "batch") return fault(`The file '${id}' has not the purpose 'batch'.`);
  return (await isMissing(files.pathOf(id))) ? fault(`The content of the file '${id}' is lost.`) : null;
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
  return { code: "invalid_request", message, param: "file_id", line: null };
}
