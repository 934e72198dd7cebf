import type { Database } from "better-sqlite3";
import { columns } from "../types/columns.ts";
import { erasedKeyOf } from "../types/erased-key.ts";
import { MIN_STORED_BYTES, storageOf } from "../types/storage.ts";
import { type FileRow, fileInsertion } from "./files.ts";

export interface UploadRow {
  id: string;
  owner: string;
  filename: string;
  purpose: string;
  /** Total bytes that the client declared. */
  bytes: number;
  mimeType: string;
  /** Lifetime of the file in seconds from its creation; null for the default. */
  fileExpiresAfter: number | null;
  status: "pending" | "completed" | "cancelled" | "expired";
  createdAt: number;
  expiresAt: number;
  fileId: string | null;
}

export interface PartRow {
  id: string;
  uploadId: string;
  bytes: number;
  /** Hex. */
  md5: string;
  createdAt: number;
}

/** A terminal upload and the parts whose files the caller removes. */
export interface EndedUpload {
  id: string;
  partIds: string[];
}

/** Terminal uploads kept per owner, the latest. */
export const KEPT_UPLOADS = 200;
/** Older terminal uploads removed when an upload ends: an earlier version kept all of them. */
const SURPLUS_AT_ONCE = 20;

const UPLOAD = columns<UploadRow>([
  "id",
  "owner",
  "filename",
  "purpose",
  "bytes",
  "mimeType",
  "fileExpiresAfter",
  "status",
  "createdAt",
  "expiresAt",
  "fileId",
]);
const PART = columns<PartRow>(["id", "uploadId", "bytes", "md5", "createdAt"]);

export function uploads(db: Database) {
  const insertFile = fileInsertion(db);
  const storage = storageOf(db);
  const isErased = erasedKeyOf(db);
  const insert = db.prepare<UploadRow>(`INSERT INTO uploads (${UPLOAD.names}) VALUES (${UPLOAD.values})`);
  const pending = db.prepare<{ owner: string; limit: number }, { open: number }>(
    "SELECT count(*) AS open FROM (SELECT 1 FROM uploads WHERE owner = @owner AND status = 'pending' LIMIT @limit)",
  );
  const get = db.prepare<{ owner: string; id: string }, UploadRow>(
    `SELECT ${UPLOAD.select} FROM uploads WHERE id = @id AND owner = @owner`,
  );
  const parts = db.prepare<{ uploadId: string }, PartRow>(
    `SELECT ${PART.select} FROM upload_parts WHERE upload_id = @uploadId ORDER BY created_at, id`,
  );
  const partSum = db.prepare<{ uploadId: string }, { parts: number; bytes: number }>(
    "SELECT count(*) AS parts, coalesce(sum(bytes), 0) AS bytes FROM upload_parts WHERE upload_id = @uploadId",
  );
  const insertPart = db.prepare<PartRow>(`INSERT INTO upload_parts (${PART.names}) VALUES (${PART.values})`);
  const removeParts = db.prepare<{ uploadId: string }, { id: string }>(
    "DELETE FROM upload_parts WHERE upload_id = @uploadId RETURNING id",
  );
  const end = db.prepare<{ id: string; status: string; fileId: string | null }>(
    "UPDATE uploads SET status = @status, file_id = @fileId WHERE id = @id",
  );
  const expired = db.prepare<{ now: number; limit: number }, { id: string }>(
    "SELECT id FROM uploads WHERE status = 'pending' AND expires_at <= @now ORDER BY expires_at LIMIT @limit",
  );
  const forget = db.prepare<{ before: number; limit: number }>(
    `DELETE FROM uploads WHERE id IN
       (SELECT id FROM uploads WHERE status <> 'pending' AND expires_at < @before ORDER BY expires_at LIMIT @limit)`,
  );
  const forgetSurplus = db.prepare<{ id: string }>(
    `DELETE FROM uploads WHERE id IN
       (SELECT id FROM uploads WHERE owner = (SELECT owner FROM uploads WHERE id = @id)
          AND status <> 'pending' AND id <> @id
        ORDER BY expires_at DESC, id LIMIT ${SURPLUS_AT_ONCE} OFFSET ${KEPT_UPLOADS - 1})`,
  );
  const erasing = db.prepare<UploadRow, { found: 1 }>(
    "SELECT 1 AS found FROM erasures WHERE owner = @owner AND requested_at >= @createdAt",
  );
  const isPart = db.prepare<{ id: string }, { found: 1 }>("SELECT 1 AS found FROM upload_parts WHERE id = @id");

  function endUpload(id: string, status: UploadRow["status"], fileId: string | null): EndedUpload {
    end.run({ id, status, fileId });
    const partIds = removeParts.all({ uploadId: id }).map((part) => part.id);
    forgetSurplus.run({ id });
    return { id, partIds };
  }

  return {
    reads: {
      get: (args: { owner: string; id: string }): UploadRow | null => get.get(args) ?? null,
      parts: (args: { uploadId: string }): PartRow[] => parts.all(args),
      /** The given ids without a part row, for the comparison with the disk at start. */
      withoutPart: ({ ids }: { ids: string[] }): string[] => ids.filter((id) => isPart.get({ id }) === undefined),
    },
    writes: {
      /** "too_many": the owner has `maxOpen` pending uploads. "erased": the owner of the request's key was erased. */
      insert(args: { row: UploadRow; maxOpen: number; keyId?: string | null }): "inserted" | "too_many" | "erased" {
        const { row, maxOpen, keyId = null } = args;
        if (isErased(keyId)) return "erased";
        if ((pending.get({ owner: row.owner, limit: maxOpen })?.open ?? 0) >= maxOpen) return "too_many";
        insert.run(row);
        return "inserted";
      },
      /**
       * "too_large": the parts together would exceed the upload's declared bytes. "empty": the part has no bytes, but
       * the upload has.
       */
      addPart(args: {
        owner: string;
        part: PartRow;
        quotaBytes: number | null;
        maxParts: number;
        now: number;
      }): "added" | "absent" | "not_pending" | "too_large" | "too_many" | "empty" | "over_quota" {
        const { owner, part, quotaBytes, maxParts, now } = args;
        const upload = get.get({ owner, id: part.uploadId });
        if (upload === undefined) return "absent";
        if (upload.status !== "pending" || upload.expiresAt <= now) return "not_pending";
        if (part.bytes === 0 && upload.bytes > 0) return "empty";
        const before = partSum.get({ uploadId: upload.id }) ?? { parts: 0, bytes: 0 };
        if (before.parts >= maxParts) return "too_many";
        if (before.bytes + part.bytes > upload.bytes) return "too_large";
        if (quotaBytes !== null && storage(owner).bytes + Math.max(part.bytes, MIN_STORED_BYTES) > quotaBytes)
          return "over_quota";
        insertPart.run(part);
        return "added";
      },
      /**
       * Inserts the file and completes the upload in one transaction; the parts' bytes stop counting for the quota.
       * "erased": an erasure of the owner is about to remove the upload, and the new file would be younger than its
       * request and stay.
       */
      complete(args: {
        owner: string;
        id: string;
        file: FileRow;
        maxFiles: number;
      }): EndedUpload | "not_pending" | "too_many" | "erased" {
        const upload = get.get({ owner: args.owner, id: args.id });
        if (upload?.status !== "pending") return "not_pending";
        if (erasing.get(upload) !== undefined) return "erased";
        if (storage(args.owner).files >= args.maxFiles) return "too_many";
        insertFile(args.file);
        return endUpload(args.id, "completed", args.file.id);
      },
      cancel(args: { owner: string; id: string }): EndedUpload | "absent" | "not_pending" {
        const upload = get.get(args);
        if (upload === undefined) return "absent";
        if (upload.status !== "pending") return "not_pending";
        return endUpload(args.id, "cancelled", null);
      },
      expire: (args: { now: number; limit: number }): EndedUpload[] =>
        expired.all(args).map(({ id }) => endUpload(id, "expired", null)),
      /** Removes terminal uploads that expired before `before` (Unix seconds). Returns how many. */
      forget: (args: { before: number; limit: number }): number => forget.run(args).changes,
    },
    rebuilds: {},
  };
}
