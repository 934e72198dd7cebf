import express, { type Express, type RequestHandler } from "express";
import type { KeyRing } from "../ledger/key-ring.ts";
import { ApiError } from "../openapi/api-error.ts";
import type { Operation } from "../openapi/document/operation.ts";
import { operations } from "../openapi/document/operations.ts";
import type { Clock } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import { requireAccess } from "./auth/access-control.ts";
import { authentication, withoutKeys } from "./auth/authentication.ts";
import { WrongKeyLimiter } from "./auth/wrong-key-limiter.ts";
import { accessLog } from "./http/access-log.ts";
import { BodyMemory } from "./http/context/body-memory.ts";
import { requestContext } from "./http/context/request-context.ts";
import { cors, hostCheck, originCheck } from "./http/cross-origin.ts";
import { errorMapper, unknownRoute } from "./http/error-mapper.ts";
import type { Routes } from "./http/routes.ts";
import { AuthenticationMetrics } from "./metrics/authentication-metrics.ts";
import type { Metrics } from "./metrics/metrics.ts";
import type { AppOptions } from "./options/app-options.ts";
import { type BatchRouteParts, batchRoutes } from "./routes/batches/batches.ts";
import { type JobRouteParts, jobRoutes } from "./routes/batches/jobs.ts";
import { type MessageBatchRouteParts, messageBatchRoutes } from "./routes/batches/message-batches.ts";
import { type EngineRouteParts, engineRoutes } from "./routes/engine.ts";
import { type FileRouteParts, fileRoutes } from "./routes/files.ts";
import { type InferenceRouteParts, inferenceRoutes } from "./routes/inference.ts";
import { type KeyRouteParts, keyRoutes } from "./routes/keys.ts";
import { type ModelFileRouteParts, modelFileRoutes } from "./routes/model-files.ts";
import { type ModelRouteParts, modelRoutes } from "./routes/models.ts";
import { type OllamaRouteParts, ollamaRoutes } from "./routes/ollama/models.ts";
import { type OwnerRouteParts, ownerRoutes } from "./routes/owners.ts";
import { type StatusRouteParts, statusRoutes } from "./routes/status.ts";
import { type StoredRouteParts, storedRoutes } from "./routes/stored/stored.ts";
import { type UploadRouteParts, uploadRoutes } from "./routes/uploads.ts";
import { type UpstreamRouteParts, upstreamRoutes } from "./routes/upstreams.ts";
import { type UsageRouteParts, usageRoutes } from "./routes/usage.ts";

/** The parts of the middleware that every request passes. */
interface StackParts {
  keys: KeyRing;
  metrics: Pick<Metrics, "registry">;
  clock: Clock;
  log: Log;
  /** 16 or more unguessable characters of [A-Za-z0-9], new on every call. */
  randomId: () => string;
  options: AppOptions;
}

/** The parts of the middleware and of each group of routes: no code below reads a clock or draws at random by other means. */
export type AppParts = StackParts &
  InferenceRouteParts &
  ModelRouteParts &
  ModelFileRouteParts &
  FileRouteParts &
  UploadRouteParts &
  BatchRouteParts &
  MessageBatchRouteParts &
  JobRouteParts &
  KeyRouteParts &
  OwnerRouteParts &
  UsageRouteParts &
  OllamaRouteParts &
  StoredRouteParts &
  EngineRouteParts &
  UpstreamRouteParts &
  StatusRouteParts;

const METHODS = ["get", "post", "patch", "delete"] as const satisfies readonly Operation["method"][];
/** The paths that pages of this machine may call where Ollama's API is served on loopback. */
const OLLAMA_PATHS = /^\/api\//;
const OPEN = new Set(
  operations.filter(({ access }) => access === "open" || access === "token").map(({ path }) => path),
);

/** The HTTP side as one request listener; see listen.ts for the socket's part. */
export function createApp(parts: AppParts): Express {
  const { log } = parts;
  const app = express();
  configure(app, parts.options);
  useStack(app, parts);
  for (const [path, handlers] of Object.entries(merged(routesOf(parts)))) addRoute(app, log, path, handlers);
  app.use(unknownRoute);
  app.use(errorMapper(log));
  return app;
}

/** All routes; the methods of one path may come from several groups. */
function merged(groups: readonly Routes[]): Routes {
  const all: Record<string, Routes[string]> = {};
  for (const routes of groups) {
    for (const [path, handlers] of Object.entries(routes)) all[path] = { ...all[path], ...handlers };
  }
  return all;
}

function routesOf(parts: AppParts): Routes[] {
  return [
    inferenceRoutes(parts),
    modelRoutes(parts),
    modelFileRoutes(parts),
    fileRoutes(parts),
    uploadRoutes(parts),
    batchRoutes(parts),
    messageBatchRoutes(parts),
    jobRoutes(parts),
    keyRoutes(parts),
    ownerRoutes(parts),
    usageRoutes(parts),
    ollamaRoutes(parts),
    storedRoutes(parts),
    engineRoutes(parts),
    upstreamRoutes(parts),
    statusRoutes(parts),
  ];
}

function configure(app: Express, { trustedProxies, unixSocket }: AppOptions): void {
  app.disable("x-powered-by");
  app.disable("etag");
  app.set("query parser", false);
  // A proxy's rule for /metrics must cover every spelling that is served as /metrics.
  app.enable("case sensitive routing");
  app.enable("strict routing");
  app.set("trust proxy", trustedProxies.length === 0 ? false : [...trustedProxies]);
  if (!unixSocket) return;
  const trustsNetwork: (address: string, hop: number) => boolean = app.get("trust proxy fn");
  // The peer of a Unix socket has no address.
  app.set("trust proxy", (address: string | undefined, hop: number) =>
    address === undefined ? hop === 0 : trustsNetwork(address, hop),
  );
}

/** The middleware of every request, in the order in which it runs. */
function useStack(app: Express, { keys, metrics, clock, log, randomId, options }: StackParts): void {
  app.use(requestContext(clock, randomId, new BodyMemory(options.bodyMemory)));
  app.use(hostCheck(options.host, options.allowedHosts));
  const localPages = options.ollama === "local pages" ? OLLAMA_PATHS : null;
  app.use(cors(options.corsOrigins, localPages));
  const refusals = new AuthenticationMetrics(metrics.registry);
  if (options.apiKeys) {
    const limiter = new WrongKeyLimiter(() => clock.now());
    app.use(authentication({ keys, limiter, metrics: refusals, log }, OPEN));
  } else {
    // Where keys are on, a page cannot send one without a preflight, which cors() answers.
    app.use(originCheck(options.corsOrigins, localPages));
    app.use(withoutKeys);
  }
}

/** Serves a path of the OpenAPI document with the access that it names. Throws for a path or method that it does not have. */
function addRoute(app: Express, log: Log, path: string, handlers: Routes[string]): void {
  // A model's name may have slashes.
  const route = app.route(path.replace(/:model$/, "*model"));
  const allowed: string[] = [];
  for (const method of METHODS) {
    const handler = handlers[method];
    if (handler === undefined) continue;
    const operation = operations.find((one) => one.method === method && one.path === path);
    if (operation === undefined) throw new Error(`No operation is described for ${method} ${path}`);
    const passed = [requireAccess(operation.access), handler];
    if (!OPEN.has(path)) passed.unshift(accessLog(operation, log));
    route[method](...passed);
    allowed.push(...(method === "get" ? ["GET", "HEAD"] : [method.toUpperCase()]));
  }
  route.all(otherMethod([...allowed, "OPTIONS"].join(", ")));
}

function otherMethod(allow: string): RequestHandler {
  return (req, res) => {
    res.setHeader("allow", allow);
    if (req.method === "OPTIONS") {
      res.writeHead(204).end();
      return;
    }
    const message = `Not allowed to ${req.method} on ${req.path.slice(0, 256)}; allowed: ${allow}.`;
    throw new ApiError("method_not_allowed", message);
  };
}
