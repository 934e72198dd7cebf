import type { NewEvent } from "../store/tables/outbox.ts";
import type { EventType, WebhookEndpoints } from "./endpoint.ts";

/** Outbox rows of a terminal batch. */
export function batchEvents(
  endpoints: WebhookEndpoints,
  { batchId, ...event }: { id: string; type: EventType; batchId: string; nowMs: number },
): NewEvent[] {
  return webhookEvents(endpoints, { ...event, data: { id: batchId } });
}

/**
 * The outbox rows of one event, one per subscribed endpoint, to be inserted in the transaction of its cause. `id` is a
 * new `evt_…`, the same for all endpoints and retries.
 */
export function webhookEvents(
  endpoints: WebhookEndpoints,
  event: { id: string; type: EventType; data: object; nowMs: number },
): NewEvent[] {
  const { id, type, data, nowMs } = event;
  const createdAt = Math.floor(nowMs / 1000);
  const payload = JSON.stringify({ id, object: "event", type, created_at: createdAt, data });
  return endpoints
    .subscribedTo(type)
    .map(({ url }) => ({ id, endpointUrl: url, type, payload, createdAt, nextAtMs: nowMs }));
}
