import type { Store } from "../../store/store.ts";
import type { Routes } from "../http/routes.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { ModelSet } from "../models/model-set.ts";
import type { AppOptions } from "../options/app-options.ts";
import { health, ready } from "./health.ts";
import { metrics as metricsPage } from "./metrics.ts";
import { openapi } from "./openapi.ts";
import { welcome } from "./welcome.ts";

export interface StatusRouteParts {
  models: ModelSet;
  store: Pick<Store, "state">;
  metrics: Pick<Metrics, "registry">;
  /** True once the server is to shut down: /ready is 503. */
  ending: () => boolean;
  /** The server's version, for /health and /openapi.json. */
  version: string;
  options: Pick<AppOptions, "apiKeys" | "host" | "limits" | "metricsToken" | "ollama">;
}

/** Routes that describe the server. They need no API key. */
export function statusRoutes({ models, store, metrics, ending, version, options }: StatusRouteParts): Routes {
  const { apiKeys, host, limits, metricsToken } = options;
  return {
    "/": { get: welcome(models, version, options) },
    "/health": { get: health(version) },
    "/ready": { get: ready(models, store, ending, apiKeys) },
    "/metrics": { get: metricsPage(metrics.registry, host, metricsToken) },
    "/openapi.json": { get: openapi(limits, version) },
  };
}
