import { z } from "zod";

/** The manifest, which is written last: a directory with it is a complete backup. */
export const MANIFEST = "backup.json";

/** Directories of files beside the database, and the hash algorithm of their rows. */
export const KINDS = [
  ["files", "sha256"],
  ["parts", "md5"],
] as const;

export const backupManifest = z.object({
  format: z.literal(1),
  /** The version of Nightshift that wrote it. */
  nightshift: z.string(),
  /** Schema version of the database; a Nightshift with fewer migrations cannot use it. */
  schema: z.number().int(),
  created_at: z.string(),
  database: z.object({ bytes: z.number().int(), sha256: z.string() }),
  files: z.object({ count: z.number().int(), bytes: z.number().int() }),
  parts: z.object({ count: z.number().int(), bytes: z.number().int() }),
  /** Ids of rows whose file was missing on disk. */
  missing: z.array(z.string()),
  /** Ids of rows whose file could not be read or differed from the stored hash. A restore leaves them out. */
  damaged: z.array(z.string()).default([]),
});

export type BackupManifest = z.infer<typeof backupManifest>;
