import { z } from "zod";
import { listOf, listQuery } from "../list.ts";

export const UPLOAD_PURPOSES = ["assistants", "batch", "fine-tune", "vision", "user_data", "evals"] as const;
/** Files of purpose `batch_output` are created by the server only. */
const purpose = z.enum([...UPLOAD_PURPOSES, "batch_output"]);
export type FilePurpose = z.infer<typeof purpose>;

export const uploadPurpose = z.enum(UPLOAD_PURPOSES);

const MIN_LIFETIME_SECONDS = 3600;
const MAX_LIFETIME_SECONDS = 30 * 86_400;

export const fileExpiresAfter = z.object({
  anchor: z.literal("created_at"),
  seconds: z.int().min(MIN_LIFETIME_SECONDS).max(MAX_LIFETIME_SECONDS),
});

/** POST /v1/files: the fields other than the file. */
export const createFileFields = z.object({
  purpose: uploadPurpose,
  expires_after: fileExpiresAfter
    .nullish()
    .describe(
      "Sent as `expires_after[anchor]` and `expires_after[seconds]`. Default: 30 days for batch files, never for others.",
    ),
});

export const createFileForm = createFileFields.extend({
  file: z
    .string()
    .meta({ format: "binary" })
    .describe("At most 512 MB. The name of a batch file ends with `.jsonl`, and it has at most 200 MB."),
});

const MAX_LIST_LIMIT = 10_000;

/** The query of GET /v1/files. */
export const fileListQuery = z.object({
  purpose: z.string().optional(),
  ...listQuery({ most: MAX_LIST_LIMIT, usual: MAX_LIST_LIMIT }),
  order: z.enum(["asc", "desc"]).default("desc").describe("Order by time of creation."),
});

export const file = z.object({
  id: z.string(),
  object: z.literal("file"),
  bytes: z.int(),
  created_at: z.int().describe("Unix seconds."),
  expires_at: z.int().nullable().describe("Unix seconds."),
  filename: z.string(),
  purpose,
  status: z.literal("processed"),
  status_details: z.null(),
});
export type File = z.infer<typeof file>;

export const fileList = listOf(file);
export type FileList = z.infer<typeof fileList>;

export const fileDeleted = z.object({ id: z.string(), object: z.literal("file"), deleted: z.literal(true) });
export type FileDeleted = z.infer<typeof fileDeleted>;
