import { z } from "zod";

export const health = z.object({ status: z.literal("ok"), version: z.string() });
export type Health = z.infer<typeof health>;

export const modelReadiness = z.object({
  id: z.string().optional().describe("Not told while API keys are on: anyone may ask."),
  state: z
    .enum(["loading", "ready", "unloading", "unloaded", "restarting", "failed", "closed"])
    .describe("An unloaded model is loaded when a request asks for it."),
  progress: z.number().min(0).max(1).optional().describe("Of loading."),
  reason: z.string().optional().describe("Why it restarts or failed; not told while API keys are on."),
});
export type ModelReadiness = z.infer<typeof modelReadiness>;

export const readinessQuery = z.object({
  strict: z.string().optional().describe("Present: 503 unless every model is ready."),
});

export const storeReadiness = z.object({
  state: z.enum(["writable", "not_writable"]),
  code: z.string().optional().describe("Why it is not, in a word: full, io, corrupt, closed."),
});
export type StoreReadiness = z.infer<typeof storeReadiness>;

export const readiness = z.object({
  status: z
    .enum(["ready", "degraded", "not_ready", "shutting_down"])
    .describe("Degraded: some models serve, and others load or have failed. 200, and with `?strict` 503."),
  models: z.array(modelReadiness),
  store: storeReadiness,
});
export type Readiness = z.infer<typeof readiness>;
