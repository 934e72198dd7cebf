import type { IncomingMessage, ServerResponse } from "node:http";
import type { RequestHandler } from "express";
import type { Jobs } from "../../batch/jobs.ts";
import type { Job } from "../../openapi/jobs.ts";
import type { Clock } from "../dependencies.ts";
import { callerOf } from "../middleware/authentication.ts";
import { sendJson } from "../respond.ts";
import { fromStore } from "../store-failure.ts";

/** Bounds of Retry-After in seconds. */
const SOONEST = 1;
const LATEST = 60;

/** GET /v1/nightshift/jobs/{id}: 202 until it is over, then the answer of the synchronous call. */
export function retrieveJob(jobs: Jobs, clock: Clock): RequestHandler {
  return async (req, res) => {
    const state = await fromStore(jobs.get(callerOf(req).owner, String(req.params.id)));
    if (state.over) sendJson(req, res, state.statusCode, state.body);
    else sendPending(req, res, state.job, state.job.eta === null ? SOONEST : state.job.eta - clock.epochSeconds());
  };
}

/** DELETE /v1/nightshift/jobs/{id} */
export function removeJob(jobs: Jobs): RequestHandler {
  return async (req, res) => {
    const job = await fromStore(jobs.remove(callerOf(req).owner, String(req.params.id)));
    sendJson(req, res, 200, JSON.stringify(job));
  };
}

/** 202 with where and when to look. */
export function sendPending(req: IncomingMessage, res: ServerResponse, job: Job, lookInSeconds: number): void {
  res.setHeader("location", `/v1/nightshift/jobs/${job.id}`);
  res.setHeader("retry-after", Math.min(LATEST, Math.max(SOONEST, Math.ceil(lookInSeconds))));
  sendJson(req, res, 202, JSON.stringify(job));
}
