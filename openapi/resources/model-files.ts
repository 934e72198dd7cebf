import { z } from "zod";
import { listOf, listQuery } from "../list.ts";

const LONGEST_SOURCE = 512;
/** A repository of the hub by quantization, or a file in it. An address could name a host of the server's own network. */
const HUB_SOURCE = /^hf:[\w.-]+\/[\w.-]+(?::[\w.-]+|(?:\/[\w.-]+)+)?(?:#[\w./-]+)?$/;

/** POST /v1/nightshift/downloads */
export const createDownload = z.object({
  source: z
    .string()
    .max(LONGEST_SOURCE)
    .regex(HUB_SOURCE, "expected hf:owner/repo:Q4_K_M or hf:owner/repo/file.gguf")
    .refine(
      (text) => !text.split(/[/#:]/).some((part) => part === "." || part === ".."),
      "'.' and '..' cannot be parts of a name",
    )
    .describe("A model of the hub: `hf:owner/repo:Q4_K_M`, `hf:owner/repo/file.gguf`, a branch behind `#`."),
});

export const modelFileQuery = z.object(listQuery({ most: 1000, usual: 100 }));

export const modelFile = z.object({
  id: z.string().describe("The file to load: of a split model, the first part."),
  object: z.literal("nightshift.model_file"),
  name: z.string(),
  entry: z.string().describe("The same as `id`."),
  files: z.array(z.string()).describe("All files of the model, by name within the folder."),
  bytes: z.number(),
  uri: z.string().nullable().describe("The source of the download; null for files that were put there otherwise."),
  checked: z.boolean().describe("True where every file has the SHA-256 that the hub or the user named."),
  received: z
    .number()
    .nullable()
    .describe("Bytes that an unfinished download has on the disk; null for a whole model."),
  used_by: z.array(z.string()).describe("Served models, loaded or not, that have one of the files."),
});
export type ModelFile = z.infer<typeof modelFile>;

export const modelFileList = listOf(modelFile);
export type ModelFileList = z.infer<typeof modelFileList>;

const header = z.object({
  description: z.string(),
  architecture: z.string(),
  parameters: z.number(),
  bytes: z.number().describe("Bytes of the weights."),
  trained_context: z.number(),
  memory: z.enum(["full", "sliding-window", "recurrent", "hybrid"]),
  chat_template: z.boolean(),
  generates: z.boolean().describe("False: the model only embeds, or ranks."),
});

/** GET /v1/nightshift/models/{id} */
export const modelFileDetails = modelFile.extend({
  header: header.nullable().describe("The properties in the header of the file; null where it cannot be loaded."),
  memory: z
    .object({
      least_bytes: z.number().describe("Weights, and room for one request of the whole context."),
      wanted_bytes: z.number().describe("With room for as many requests as may run at once."),
      free_bytes: z.number().describe("Free memory where weights and cache would lie."),
    })
    .nullable(),
  problem: z.string().nullable().describe("Why the model cannot be loaded."),
});
export type ModelFileDetails = z.infer<typeof modelFileDetails>;

export const modelFileDeleted = z.object({
  id: z.string(),
  object: z.literal("nightshift.model_file.deleted"),
  deleted: z.literal(true),
  freed_bytes: z.number(),
});
export type ModelFileDeleted = z.infer<typeof modelFileDeleted>;

export const modelDownload = z.object({
  id: z.string(),
  object: z.literal("nightshift.model_download"),
  source: z.string(),
  name: z.string(),
  status: z.enum(["queued", "running", "completed", "failed", "cancelled"]),
  received_bytes: z.number().describe("Bytes on the disk, those of an earlier download of the source included."),
  total_bytes: z.number().nullable().describe("Null while the hub has not named it."),
  model_file: z.string().nullable().describe("The id of the model's file, once the download is completed."),
  error: z.string().nullable().describe("The reason of a failure."),
  created_at: z.number().describe("Unix seconds."),
  ended_at: z.number().nullable(),
});
export type ModelDownloadObject = z.infer<typeof modelDownload>;

export const modelDownloadList = z.object({ object: z.literal("list"), data: z.array(modelDownload) });
export type ModelDownloadList = z.infer<typeof modelDownloadList>;
