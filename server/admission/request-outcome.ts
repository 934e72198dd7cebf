import type { OnlineTier } from "../../engine/protocol/request.ts";
import { ApiError } from "../../openapi/api-error.ts";
import { ClientGone } from "../http/connection/client-gone.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { Endpoint, RequestMeter, RequestStatus } from "../metrics/request-meter.ts";

/** Gives a request its meter, once its model and tier are known. */
export type OpenMeter = (model: string, tier: OnlineTier) => RequestMeter;

/**
 * Runs a request and counts how it ended when it threw: at its meter, or, before it had one, as turned away. Whoever left
 * hears nothing more; what else was thrown is thrown on.
 */
export async function counted(metrics: Metrics, endpoint: Endpoint, run: (open: OpenMeter) => Promise<void>) {
  const meters: RequestMeter[] = [];
  try {
    await run((model, tier) => {
      const meter = metrics.meter(model, endpoint, tier);
      meters.push(meter);
      return meter;
    });
  } catch (error) {
    const status = statusOf(error);
    if (meters.length === 0) metrics.turnedAway(endpoint, status);
    for (const meter of meters) meter.ended(status);
    if (!(error instanceof ClientGone)) throw error;
  }
}

/** What a request that ends with this counts as. */
function statusOf(error: unknown): RequestStatus {
  if (error instanceof ClientGone) return "cancelled";
  if (!(error instanceof ApiError)) return "error";
  // A flex request is refused by 429 for what others get a 503.
  if (error.status === 503 || error.code === "resource_unavailable") return "unavailable";
  if (error.status === 429) return "limited";
  return error.status < 500 ? "refused" : "error";
}
