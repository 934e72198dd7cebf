import { type File, file } from "../../openapi/resources/files.ts";
import type { FileRow } from "../../store/tables/files.ts";

const { purpose: purposes } = file.shape;

/** The API object of a file's row. */
export function fileObject({ id, bytes, createdAt, expiresAt, filename, purpose }: FileRow): File {
  return {
    id,
    object: "file",
    bytes,
    created_at: createdAt,
    expires_at: expiresAt,
    filename,
    purpose: purposes.parse(purpose),
    status: "processed",
    status_details: null,
  };
}
