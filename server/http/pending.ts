import type { IncomingMessage, ServerResponse } from "node:http";
import type { Job } from "../../openapi/resources/jobs.ts";
import { sendJson } from "./respond.ts";

/** Bounds of Retry-After in seconds. */
export const SOONEST = 1;
const LATEST = 60;

/** 202 with where and when to look. */
export function sendPending(req: IncomingMessage, res: ServerResponse, job: Job, lookInSeconds: number): void {
  res.setHeader("location", `/v1/nightshift/jobs/${job.id}`);
  res.setHeader("retry-after", Math.min(LATEST, Math.max(SOONEST, Math.ceil(lookInSeconds))));
  sendJson(req, res, 202, JSON.stringify(job));
}
