import { z } from "zod";
import { modelReadiness } from "./health.ts";

const count = z.int().min(0);
const ms = z.number().min(0);
const reported = z.number().min(0).nullable();

const load = z.object({
  running: reported.describe("Requests that it computes."),
  waiting: reported.describe("Requests in its queue."),
  kv_usage: reported.describe("Share of its KV cache in use."),
  generated_tokens: reported.describe("Tokens that it has generated since its start."),
  age_ms: ms.describe("Milliseconds since it reported these numbers; each is null where it does not report it."),
});

const replica = z.object({
  url: z.string(),
  weight: z.number().describe("Its part of the load, relative to those of the others."),
  healthy: z.boolean().describe("True while it lists its models."),
  in_flight: z
    .object({ online: count, lower_tiers: count })
    .describe("Requests of this server; lower tiers: flex and batch."),
  limit: count.describe("Requests of flex and batch that may be in flight at once."),
  paused_ms: ms.describe("Milliseconds until flex and batch may go on, where it asked for a pause; else 0."),
  load: load.nullable().describe("Null before its first report, and where it has no metrics that are known."),
  breaker: z.object({
    state: z.enum(["closed", "open", "half-open"]),
    retry_in_ms: ms.describe("Milliseconds until a request is tried; 0 unless it is open."),
  }),
  last_error: z.string().nullable().describe("The last failure; null after the next list of its models."),
});

const upstreamModel = z.object({
  id: z.string().describe("The name in requests."),
  upstream_id: z.string().describe("Its id at the upstream."),
  state: modelReadiness.shape.state,
  context: z.int().nullable().describe("Tokens of the longest request; null until it was found."),
  refuses: z.array(z.string()).describe("Parts of requests that are refused, because the upstream does not take them."),
});

const upstreamReport = z.object({
  object: z.literal("nightshift.upstream"),
  name: z.string(),
  kind: z.string().describe("The engine, as configured or as its list of models shows it."),
  models: z.array(upstreamModel),
  queued: count.describe("Requests of flex and batch that wait for a place at a replica."),
  replicas: z.array(replica),
});
export type UpstreamReport = z.infer<typeof upstreamReport>;

export const upstreamList = z.object({ object: z.literal("list"), data: z.array(upstreamReport) });
export type UpstreamList = z.infer<typeof upstreamList>;
