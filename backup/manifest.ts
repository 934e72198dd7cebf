import { z } from "zod";

/** The name of the manifest, which is written last: a directory that has it is a whole backup. */
export const MANIFEST = "backup.json";

/** What has bytes beside the database, and how its rows hash them. */
export const KINDS = [
  ["files", "sha256"],
  ["parts", "md5"],
] as const;

export const backupManifest = z.object({
  format: z.literal(1),
  /** The version of Nightshift that made it. */
  nightshift: z.string(),
  /** Of the database; a version that knows fewer migrations can't use it. */
  schema: z.number().int(),
  created_at: z.string(),
  database: z.object({ bytes: z.number().int(), sha256: z.string() }),
  files: z.object({ count: z.number().int(), bytes: z.number().int() }),
  parts: z.object({ count: z.number().int(), bytes: z.number().int() }),
  /** Ids of rows whose bytes were gone from the disk already. */
  missing: z.array(z.string()),
  /** Ids of rows whose bytes on the disk could not be read or were not those that were stored. A restore leaves them out. */
  damaged: z.array(z.string()).default([]),
});

export type BackupManifest = z.infer<typeof backupManifest>;
