import { WebhookDelivery } from "../../webhooks/delivery.ts";
import { resolveBySystem } from "../../webhooks/destination.ts";
import { WebhookEndpoints } from "../../webhooks/endpoint.ts";
import { WebhookMetrics } from "../metrics/webhook-metrics.ts";
import type { Composition } from "./composition.ts";
import type { StorageParts } from "./storage.ts";

export interface WebhookParts {
  endpoints: WebhookEndpoints;
  delivery: WebhookDelivery;
}

/** Delivery of webhook events; those that the last server left are sent at once. */
export async function startWebhooks(composition: Composition, { store, time }: StorageParts): Promise<WebhookParts> {
  const { options, random, log, registry, bounds, parts } = composition;
  const { webhooks, webhookAllowPrivate, webhookDays } = options.current;
  const endpoints = new WebhookEndpoints(webhooks);
  const delivery = new WebhookDelivery({
    store: store.outbox,
    endpoints,
    allowPrivate: webhookAllowPrivate === "on",
    resolve: resolveBySystem,
    clock: time,
    random,
    keptSeconds: webhookDays * 86_400,
    observer: new WebhookMetrics(registry),
    log,
  });
  await parts.start({
    name: "webhooks",
    start: () => delivery.wake(),
    stop: () => delivery.close(bounds.webhookGraceMs),
  });
  options.watch((next) => {
    endpoints.replace(next.webhooks);
    delivery.wake();
  });
  return { endpoints, delivery };
}
