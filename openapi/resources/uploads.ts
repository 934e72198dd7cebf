import { z } from "zod";
import { boundedList } from "../bounded-schema.ts";
import { file, fileExpiresAfter, uploadPurpose } from "./files.ts";

/** More than the parts of the largest upload at 1 MB each. */
export const MAX_PARTS = 10_000;

export const createUpload = z.object({
  filename: z.string().min(1).max(4096),
  purpose: uploadPurpose,
  bytes: z.int().min(0).describe("Size of the whole file: at most 8 GB, for a batch file 200 MB."),
  mime_type: z
    .string()
    .max(255)
    .regex(/^[\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]+( *;[\x20-\x7e]*)?$/, {
      error: "expected a type such as text/plain",
    }),
  expires_after: fileExpiresAfter.nullish().describe("Expiry of the file that the upload becomes."),
});

export const addUploadPartForm = z.object({
  data: z.string().meta({ format: "binary" }).describe("At most 64 MB. Empty only in an upload of 0 bytes."),
});

export const completeUpload = z.object({
  part_ids: boundedList(z.string(), { max: MAX_PARTS }).describe("Ids of the parts in their order in the file."),
  md5: z
    .string()
    .regex(/^[0-9a-fA-F]{32}$/)
    .nullish()
    .describe("MD5 checksum of the whole file, in hex."),
});

export const upload = z.object({
  id: z.string(),
  object: z.literal("upload"),
  bytes: z.int(),
  created_at: z.int().describe("Unix seconds."),
  expires_at: z.int().describe("Unix seconds; one hour after the creation."),
  filename: z.string(),
  purpose: uploadPurpose,
  status: z.enum(["pending", "completed", "cancelled", "expired"]),
  file: file.nullable(),
});
export type Upload = z.infer<typeof upload>;

export const uploadPart = z.object({
  id: z.string(),
  object: z.literal("upload.part"),
  created_at: z.int().describe("Unix seconds."),
  upload_id: z.string(),
});
export type UploadPart = z.infer<typeof uploadPart>;
