import type { Batches, BatchTerms } from "../../batch/api/batches.ts";
import type { BatchRunner } from "../../batch/run/batch-runner.ts";
import type { ShiftRules } from "../../batch/shift/shift-rules.ts";
import type { Prices } from "../../ledger/prices.ts";
import type { WebhookDelivery } from "../../webhooks/delivery.ts";
import type { WebhookEndpoints } from "../../webhooks/endpoint.ts";
import type { AppOptions } from "../options/app-options.ts";
import type { LiveOptions } from "../options/live.ts";
import { pricing, waitBounds } from "./options-by-component.ts";

/** All that options reach while the server runs. */
export interface LiveParts {
  log: { level: string };
  prices: Prices;
  night: BatchRunner;
  batches: Batches;
  terms: BatchTerms & { rules: ShiftRules };
  webhooks: WebhookEndpoints;
  delivery: WebhookDelivery;
  /** Read at each request. */
  served: AppOptions;
}

/** What runs goes on by the old options where it is under way: a price is the one at a request's end. */
export function takeOver(options: LiveOptions, parts: LiveParts): void {
  const { log, prices, night, batches, terms, webhooks, delivery, served } = parts;
  log.level = options.logLevel;
  prices.replace(...pricing(options));
  night.setRules(terms.rules);
  batches.setTerms(terms);
  webhooks.replace(options.webhooks);
  delivery.wake();
  Object.assign(served, waitBounds(options));
}
