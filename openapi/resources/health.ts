import { z } from "zod";

export const health = z.object({ status: z.literal("ok"), version: z.string() });
export type Health = z.infer<typeof health>;

export const modelReadiness = z.object({
  id: z.string().optional().describe("Omitted while API keys are on, because this endpoint needs no key."),
  state: z
    .enum(["loading", "ready", "unloading", "unloaded", "restarting", "failed", "closed"])
    .describe("An unloaded model is loaded by the next request for it."),
  progress: z.number().min(0).max(1).optional().describe("Progress of loading, 0 to 1."),
  upstream: z
    .string()
    .optional()
    .describe("The upstream that computes the model, where there is one. Omitted while API keys are on."),
  reason: z.string().optional().describe("Why the engine restarts or has failed. Omitted while API keys are on."),
});
export type ModelReadiness = z.infer<typeof modelReadiness>;

export const readinessQuery = z.object({
  strict: z.string().optional().describe("If present, with any value: 503 unless every model is ready."),
});

export const storeReadiness = z.object({
  state: z.enum(["writable", "not_writable"]),
  code: z.string().optional().describe("Why the store is not writable: `full`, `io`, `corrupt` or `closed`."),
});
export type StoreReadiness = z.infer<typeof storeReadiness>;

export const readiness = z.object({
  status: z
    .enum(["ready", "degraded", "not_ready", "shutting_down"])
    .describe("`degraded`: some models are ready and others are not; 200, with `?strict` 503."),
  models: z.array(modelReadiness),
  store: storeReadiness,
});
export type Readiness = z.infer<typeof readiness>;
