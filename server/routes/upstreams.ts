import type { RequestHandler } from "express";
import type { Replica } from "../../engine/upstream/replica/replica.ts";
import type { Upstream } from "../../engine/upstream/upstream.ts";
import type { UpstreamEngine } from "../../engine/upstream/upstream-engine.ts";
import type { UpstreamList, UpstreamReport } from "../../openapi/resources/upstreams.ts";
import { sendJson } from "../http/respond.ts";
import type { Routes } from "../http/routes.ts";

export interface UpstreamRouteParts {
  upstreams: readonly Upstream[];
}

export function upstreamRoutes({ upstreams }: UpstreamRouteParts): Routes {
  return { "/v1/nightshift/upstreams": { get: listUpstreams(upstreams) } };
}

/** GET /v1/nightshift/upstreams */
function listUpstreams(upstreams: readonly Upstream[]): RequestHandler {
  return (req, res) => {
    const list: UpstreamList = { object: "list", data: upstreams.map(upstreamObject) };
    sendJson(req, res, 200, JSON.stringify(list));
  };
}

function upstreamObject({ access, engines }: Upstream): UpstreamReport {
  const now = access.clock.now();
  return {
    object: "nightshift.upstream",
    name: access.config.name,
    kind: access.kind,
    models: engines.map(modelObject),
    queued: access.gate.waiting,
    replicas: access.replicas.map((replica) => replicaObject(replica, now)),
  };
}

function modelObject(engine: UpstreamEngine): UpstreamReport["models"][number] {
  const { model, upstreamModel, state, facts } = engine;
  const refuses = [...(facts?.upstream?.refuses ?? [])];
  return { id: model, upstream_id: upstreamModel, state: state.name, context: facts?.context ?? null, refuses };
}

function replicaObject(replica: Replica, now: number): UpstreamReport["replicas"][number] {
  const { url, weight, healthy, requests, online, limit, load, loadAt, breaker, lastError } = replica;
  return {
    url,
    weight,
    healthy,
    in_flight: { online, lower_tiers: requests - online },
    limit: replica.places,
    paused_ms: Math.ceil(limit.pausedMs),
    load:
      loadAt === null
        ? null
        : {
            running: load.running,
            waiting: load.waiting,
            kv_usage: load.kvUsed,
            generated_tokens: load.generatedTokens,
            age_ms: Math.round(now - loadAt),
          },
    breaker: { state: breaker.state, retry_in_ms: Math.ceil(breaker.retryInMs) },
    last_error: lastError,
  };
}
