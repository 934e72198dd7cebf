import type { IncomingMessage, ServerResponse } from "node:http";
import type { Job } from "../../openapi/resources/jobs.ts";
import { sendJson } from "./respond.ts";

/** Bounds of Retry-After in seconds. */
export const SOONEST = 1;
const LATEST = 60;

/** Answers 202 with the URL of the job, and the seconds after which to ask for it. */
export function sendAcceptedJob(req: IncomingMessage, res: ServerResponse, job: Job, retryAfter: number): void {
  res.setHeader("location", `/v1/nightshift/jobs/${job.id}`);
  res.setHeader("retry-after", Math.min(LATEST, Math.max(SOONEST, Math.ceil(retryAfter))));
  sendJson(req, res, 202, JSON.stringify(job));
}
