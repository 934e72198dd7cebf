import type { NewEvent } from "../store/tables/outbox.ts";
import type { EventType, WebhookEndpoints } from "./endpoint.ts";

/** Those of a batch that is over. */
export function batchEvents(
  endpoints: WebhookEndpoints,
  { batchId, ...event }: { id: string; type: EventType; batchId: string; nowMs: number },
): NewEvent[] {
  return webhookEvents(endpoints, { ...event, data: { id: batchId } });
}

/**
 * The outbox rows of one event, one for each endpoint that wants it, to be inserted in the transaction that makes the
 * event true. `id` is a new `evt_…`; all endpoints get the same, and so does every retry.
 */
export function webhookEvents(
  endpoints: WebhookEndpoints,
  event: { id: string; type: EventType; data: object; nowMs: number },
): NewEvent[] {
  const { id, type, data, nowMs } = event;
  const createdAt = Math.floor(nowMs / 1000);
  const payload = JSON.stringify({ id, object: "event", type, created_at: createdAt, data });
  return endpoints
    .wanting(type)
    .map(({ url }) => ({ id, endpointUrl: url, type, payload, createdAt, nextAtMs: nowMs }));
}
