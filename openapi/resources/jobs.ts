import { z } from "zod";

/** A request that runs as the only line of a batch. */
export const job = z.object({
  id: z.string(),
  object: z.literal("nightshift.job"),
  status: z.enum(["queued", "running", "cancelling", "ended", "deleted"]),
  endpoint: z.string(),
  batch_id: z.string().describe("The batch that runs the job. Webhook events name it; cancelling it cancels the job."),
  created_at: z.int(),
  expires_at: z.int().describe("Unix seconds. A job that has not run by then expires."),
  reason: z.string().describe("Why the job has this status, as text for people."),
  eta: z.int().nullable().describe("Expected end at the present rate, in Unix seconds; null when unknown."),
});
export type Job = z.infer<typeof job>;
