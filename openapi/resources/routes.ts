import { z } from "zod";
import { modelReadiness } from "./health.ts";

const usd = z.number().min(0);

const routeModel = z.object({
  id: z.string(),
  state: modelReadiness.shape.state.nullable().describe("Null while the model is not served."),
  predicted_wait_ms: z
    .number()
    .nullable()
    .describe("Of a request at tier default that comes now; null while it takes none."),
  cost_usd: usd
    .nullable()
    .describe("Mean cost of its recent online requests, at tier default; null before the first one."),
  requests: z.record(z.string(), z.int().min(1)).describe("Requests that it took since the server's start, by reason."),
  share: z.number().min(0).max(1).describe("Its share of the route's requests since then."),
  saving_usd: usd.describe("What the tokens of these would have cost more at the dearest model of the route."),
});

const routeReport = z.object({
  object: z.literal("nightshift.route"),
  name: z.string(),
  choose: z.enum(["first", "cheapest", "fastest"]),
  overflow: z.array(z.enum(["model", "flex"])).describe("The steps where the chosen model has no room."),
  models: z.array(routeModel),
  latest: z
    .object({ model: z.string(), reason: z.string(), at: z.int().describe("Unix seconds.") })
    .nullable()
    .describe("The model that took the latest request, and why; null before the first request."),
  saving_usd: usd,
});
export type RouteReport = z.infer<typeof routeReport>;

export const routeList = z.object({ object: z.literal("list"), data: z.array(routeReport) });
export type RouteList = z.infer<typeof routeList>;
