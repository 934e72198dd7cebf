import { basename, dirname } from "node:path";
import type { RequestHandler, Response } from "express";
import type { FileStore } from "../../files/file-store.ts";
import type { Incoming } from "../../files/incoming.ts";
import { MAX_BATCH_BYTES, MAX_FILE_BYTES, tooLarge } from "../../files/purpose-rules.ts";
import { storedKeyId } from "../../ledger/key.ts";
import { ApiError } from "../../openapi/api-error.ts";
import { validate } from "../../openapi/generation/validate.ts";
import { listPage } from "../../openapi/list.ts";
import { createFileFields, type FileDeleted, type FileList, fileListQuery } from "../../openapi/resources/files.ts";
import type { FileRow } from "../../store/tables/files.ts";
import { fileName } from "../http/body/file-name.ts";
import { readForm } from "../http/body/multipart.ts";
import { callerOf } from "../http/context/caller.ts";
import { readQuery } from "../http/query.ts";
import { sendJson } from "../http/respond.ts";
import type { Routes } from "../http/routes.ts";
import { fromStore } from "../http/store-error-response.ts";
import type { AppOptions } from "../options/app-options.ts";
import { fileObject } from "./file-object.ts";

export interface FileRouteParts {
  files: FileStore;
  options: Pick<AppOptions, "stallMs">;
}

export function fileRoutes({ files, options }: FileRouteParts): Routes {
  return {
    "/v1/files": { get: listFiles(files), post: createFile(files) },
    "/v1/files/:file": { get: retrieveFile(files), delete: deleteFile(files) },
    "/v1/files/:file/content": { get: fileContent(files, options.stallMs) },
  };
}

/** POST /v1/files: answered once the file is durable. */
function createFile(files: FileStore): RequestHandler {
  return async (req, res) => {
    const { owner, key } = callerOf(req);
    const storageBytes = key?.limits.storageBytes ?? null;
    const { fields, received } = await readForm<{ incoming: Incoming; filename: string }>(req, res, {
      fileField: "file",
      maxBytes: MAX_FILE_BYTES,
      tooLarge: () => tooLarge("file", MAX_FILE_BYTES),
      admit: (bytes) => fromStore(files.admit(owner, bytes, storageBytes)),
      // The purpose may follow the file: a refusal for it then comes after the file was received.
      receive: async ({ bytes, filename: given, fields }) => {
        const filename = fileName(given, "file");
        const limit = fields.get("purpose") === "batch" ? MAX_BATCH_BYTES : MAX_FILE_BYTES;
        const error = () => tooLarge("file", limit);
        const receiving = files.receive(owner, bytes, { bytes: limit, error }, storageBytes);
        return { incoming: await fromStore(receiving), filename };
      },
      discard: ({ incoming }) => files.discard(incoming),
    });
    const { incoming, filename } = received;
    const meta = await orDiscard(files, incoming, () => validate(createFileFields, bodyOf(fields)));
    const row = await fromStore(
      files.add(incoming, {
        owner,
        purpose: meta.purpose,
        filename,
        expiresAfter: meta.expires_after?.seconds ?? null,
        storageBytes,
        keyId: storedKeyId(key),
      }),
    );
    sendJson(req, res, 200, JSON.stringify(fileObject(row)));
  };
}

/** GET /v1/files */
function listFiles(files: FileStore): RequestHandler {
  return async (req, res) => {
    const { purpose = null, after = null, limit, order } = validate(fileListQuery, readQuery(req));
    const { rows, hasMore } = await fromStore(files.list({ owner: callerOf(req).owner, purpose, limit, after, order }));
    const list: FileList = listPage(rows.map(fileObject), hasMore);
    sendJson(req, res, 200, JSON.stringify(list));
  };
}

/** GET /v1/files/:file */
function retrieveFile(files: FileStore): RequestHandler {
  return async (req, res) => {
    const row = await fromStore(files.get(callerOf(req).owner, String(req.params.file)));
    sendJson(req, res, 200, JSON.stringify(fileObject(row)));
  };
}

/** DELETE /v1/files/:file */
function deleteFile(files: FileStore): RequestHandler {
  return async (req, res) => {
    const id = String(req.params.file);
    await fromStore(files.remove(callerOf(req).owner, id));
    const body: FileDeleted = { id, object: "file", deleted: true };
    sendJson(req, res, 200, JSON.stringify(body));
  };
}

/** GET /v1/files/:file/content: the bytes, independent of Accept; ranges too. `stallMs`: see sendLargeJson. */
function fileContent(files: FileStore, stallMs: number): RequestHandler {
  return async (req, res) => {
    const row = await fromStore(files.get(callerOf(req).owner, String(req.params.file)));
    describeContent(res, row);
    res.setTimeout(stallMs, () => res.destroy());
    const path = files.pathOf(row.id);
    const sent = new Promise<void>((resolve, reject) => {
      const options = { root: dirname(path), cacheControl: false, etag: false, lastModified: false };
      res.sendFile(basename(path), options, (error?: Error & { status?: number }) => {
        // A client that disconnects during a download is no error.
        if (error === undefined || error === null || res.headersSent || res.destroyed) resolve();
        else if (error.status === 416) reject(rangeNotSatisfiable());
        else reject(new Error(`The content of ${row.id} cannot be read`, { cause: error }));
      });
    });
    await sent.catch(async (error: unknown) => {
      // Deleted after its row was read: 404, as for any deleted file.
      if (!(error instanceof ApiError)) await fromStore(files.get(row.owner, row.id));
      throw error;
    });
  };
}

/** Sends the client's own name of the file as that of a download, and a type that no browser interprets (RFC 6266). */
function describeContent(res: Response, { filename, purpose }: FileRow): void {
  // A header has no room for a name of 4 kB. Its end is kept, for the extension.
  res.attachment([...filename].slice(-200).join(""));
  const isLines = purpose === "batch" || purpose === "batch_output";
  res.setHeader("content-type", isLines ? "application/jsonl" : "application/octet-stream");
}

/** The object that the flat fields of a form describe. */
function bodyOf(fields: ReadonlyMap<string, string>): Record<string, unknown> {
  const anchor = fields.get("expires_after[anchor]");
  const seconds = fields.get("expires_after[seconds]");
  const given = anchor !== undefined || seconds !== undefined;
  const wholeSeconds = seconds !== undefined && /^\d{1,9}$/.test(seconds) ? Number(seconds) : seconds;
  return { purpose: fields.get("purpose"), ...(given && { expires_after: { anchor, seconds: wholeSeconds } }) };
}

async function orDiscard<T>(files: FileStore, incoming: Incoming, check: () => T): Promise<T> {
  try {
    return check();
  } catch (error) {
    await files.discard(incoming);
    throw error;
  }
}

function rangeNotSatisfiable(): ApiError {
  const message = "The requested range is outside the file.";
  return new ApiError("range_not_satisfiable", message);
}
