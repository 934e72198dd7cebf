import type { RequestHandler } from "express";
import type { Jobs } from "../../../batch/api/jobs.ts";
import type { Clock } from "../../../platform/clock.ts";
import { epochSeconds } from "../../../platform/clock.ts";
import { SOONEST, sendAcceptedJob } from "../../http/accepted-job.ts";
import { callerOf } from "../../http/context/caller.ts";
import { sendJson } from "../../http/respond.ts";
import type { Routes } from "../../http/routes.ts";
import { fromStore } from "../../http/store-error-response.ts";

export interface JobRouteParts {
  jobs: Jobs;
  clock: Clock;
}

export function jobRoutes({ jobs, clock }: JobRouteParts): Routes {
  return { "/v1/nightshift/jobs/:id": { get: retrieveJob(jobs, clock), delete: removeJob(jobs) } };
}

/** GET /v1/nightshift/jobs/{id}: 202 until it is over, then the answer of the synchronous call. */
function retrieveJob(jobs: Jobs, clock: Clock): RequestHandler {
  return async (req, res) => {
    const state = await fromStore(jobs.get(callerOf(req).owner, String(req.params.id)));
    if (state.over) sendJson(req, res, state.statusCode, state.body);
    else sendAcceptedJob(req, res, state.job, state.job.eta === null ? SOONEST : state.job.eta - epochSeconds(clock));
  };
}

/** DELETE /v1/nightshift/jobs/{id} */
function removeJob(jobs: Jobs): RequestHandler {
  return async (req, res) => {
    const job = await fromStore(jobs.remove(callerOf(req).owner, String(req.params.id)));
    sendJson(req, res, 200, JSON.stringify(job));
  };
}
