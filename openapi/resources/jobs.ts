import { z } from "zod";

/** A request that was put off: it runs as the one line of a batch. */
export const job = z.object({
  id: z.string(),
  object: z.literal("nightshift.job"),
  status: z.enum(["queued", "running", "cancelling", "ended", "deleted"]),
  endpoint: z.string(),
  batch_id: z.string().describe("The batch whose only line it is: webhooks name it, and it can be cancelled as one."),
  created_at: z.int(),
  expires_at: z.int().describe("Unix seconds; what has not run by then does not run."),
  reason: z.string().describe("Why it stands where it stands, for people."),
  eta: z.int().nullable().describe("Unix seconds at which it ends at the present rate; null when not known."),
});
export type Job = z.infer<typeof job>;
