import type { RequestHandler } from "express";
import type { FileRoom } from "../../batch/files.ts";
import type { Incoming } from "../../batch/files-inbox.ts";
import { MAX_PART_BYTES, tooLarge } from "../../batch/files-purpose.ts";
import type { UploadRoom } from "../../batch/uploads.ts";
import { storedKeyId } from "../../ledger/key.ts";
import { completeUpload, createUpload, type Upload, type UploadPart, upload } from "../../openapi/uploads.ts";
import { validate } from "../../openapi/validate.ts";
import type { FileRow } from "../../store/files.ts";
import type { UploadRow } from "../../store/uploads.ts";
import { fileName } from "../file-name.ts";
import { fileObject } from "../file-object.ts";
import { BODY_BYTES } from "../input-limits.ts";
import { readJson } from "../json-body.ts";
import { callerOf } from "../middleware/authentication.ts";
import { readForm } from "../multipart.ts";
import { sendJson } from "../respond.ts";
import { fromStore } from "../store-failure.ts";

/** POST /v1/uploads */
export function startUpload(uploads: UploadRoom): RequestHandler {
  return async (req, res) => {
    const body = validate(createUpload, await readJson(req, res, BODY_BYTES.upload));
    const { owner, key } = callerOf(req);
    const row = await fromStore(
      uploads.create({
        owner,
        storageBytes: key?.limits.storageBytes ?? null,
        keyId: storedKeyId(key),
        filename: fileName(body.filename, "filename"),
        purpose: body.purpose,
        bytes: body.bytes,
        mimeType: body.mime_type,
        expiresAfter: body.expires_after?.seconds ?? null,
      }),
    );
    sendJson(req, res, 200, JSON.stringify(uploadObject(row, null)));
  };
}

/** POST /v1/uploads/:upload/parts: answered once the part is durable. */
export function addUploadPart(uploads: UploadRoom, files: FileRoom): RequestHandler {
  return async (req, res) => {
    const { owner, key } = callerOf(req);
    const storageBytes = key?.limits.storageBytes ?? null;
    const id = String(req.params.upload);
    const { received } = await readForm<Incoming>(req, res, {
      fileField: "data",
      maxBytes: MAX_PART_BYTES,
      tooLarge: () => tooLarge("data", MAX_PART_BYTES),
      admit: (bytes) => fromStore(uploads.admitPart(owner, id, bytes, storageBytes)),
      receive: ({ bytes }) => fromStore(uploads.receivePart(owner, bytes, storageBytes)),
      discard: (incoming) => files.discard(incoming),
    });
    const part = await fromStore(uploads.addPart(owner, id, received, storageBytes));
    const body: UploadPart = { id: part.id, object: "upload.part", created_at: part.createdAt, upload_id: id };
    sendJson(req, res, 200, JSON.stringify(body));
  };
}

/** POST /v1/uploads/:upload/complete */
export function finishUpload(uploads: UploadRoom): RequestHandler {
  return async (req, res) => {
    const { part_ids, md5 } = validate(completeUpload, await readJson(req, res, BODY_BYTES.upload));
    const completion = uploads.complete(callerOf(req).owner, String(req.params.upload), part_ids, md5 ?? null);
    const { upload, file } = await fromStore(completion);
    sendJson(req, res, 200, JSON.stringify(uploadObject(upload, file)));
  };
}

/** POST /v1/uploads/:upload/cancel */
export function cancelUpload(uploads: UploadRoom): RequestHandler {
  return async (req, res) => {
    const row = await fromStore(uploads.cancel(callerOf(req).owner, String(req.params.upload)));
    sendJson(req, res, 200, JSON.stringify(uploadObject(row, null)));
  };
}

function uploadObject(row: UploadRow, file: FileRow | null): Upload {
  return {
    id: row.id,
    object: "upload",
    bytes: row.bytes,
    created_at: row.createdAt,
    expires_at: row.expiresAt,
    filename: row.filename,
    purpose: upload.shape.purpose.parse(row.purpose),
    status: row.status,
    file: file === null ? null : fileObject(file),
  };
}
