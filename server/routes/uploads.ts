import type { RequestHandler } from "express";
import type { FileStore } from "../../files/file-store.ts";
import type { Incoming } from "../../files/incoming.ts";
import { MAX_PART_BYTES, tooLarge } from "../../files/purpose-rules.ts";
import type { UploadStore } from "../../files/upload-store.ts";
import { storedKeyId } from "../../ledger/key.ts";
import { validate } from "../../openapi/generation/validate.ts";
import { completeUpload, createUpload, type Upload, type UploadPart, upload } from "../../openapi/resources/uploads.ts";
import type { FileRow } from "../../store/tables/files.ts";
import type { UploadRow } from "../../store/tables/uploads.ts";
import { fileName } from "../http/body/file-name.ts";
import { readJson } from "../http/body/json-body.ts";
import { readForm } from "../http/body/multipart.ts";
import { callerOf } from "../http/context/caller.ts";
import { sendJson } from "../http/respond.ts";
import type { Routes } from "../http/routes.ts";
import { fromStore } from "../http/store-error-response.ts";
import { fileObject } from "./file-object.ts";
import { BODY_BYTES } from "./input-limits.ts";

export interface UploadRouteParts {
  uploads: UploadStore;
  files: FileStore;
}

export function uploadRoutes({ uploads, files }: UploadRouteParts): Routes {
  return {
    "/v1/uploads": { post: startUpload(uploads) },
    "/v1/uploads/:upload/parts": { post: addUploadPart(uploads, files) },
    "/v1/uploads/:upload/complete": { post: finishUpload(uploads) },
    "/v1/uploads/:upload/cancel": { post: cancelUpload(uploads) },
  };
}

/** POST /v1/uploads */
function startUpload(uploads: UploadStore): RequestHandler {
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
function addUploadPart(uploads: UploadStore, files: FileStore): RequestHandler {
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
function finishUpload(uploads: UploadStore): RequestHandler {
  return async (req, res) => {
    const { part_ids, md5 } = validate(completeUpload, await readJson(req, res, BODY_BYTES.upload));
    const completion = uploads.complete(callerOf(req).owner, String(req.params.upload), part_ids, md5 ?? null);
    const { upload, file } = await fromStore(completion);
    sendJson(req, res, 200, JSON.stringify(uploadObject(upload, file)));
  };
}

/** POST /v1/uploads/:upload/cancel */
function cancelUpload(uploads: UploadStore): RequestHandler {
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
