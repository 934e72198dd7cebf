import express, { type Express, type RequestHandler } from "express";
import { RateLimits } from "../ledger/rate-limits.ts";
import { ReportQueue } from "../ledger/report-queue.ts";
import { ApiError } from "../openapi/api-error.ts";
import type { Operation } from "../openapi/document/operation.ts";
import { operations } from "../openapi/document/operations.ts";
import type { Log } from "../platform/log.ts";
import { Admission } from "./admission/admission.ts";
import { Allowances } from "./admission/allowance.ts";
import type { AppDependencies } from "./app-dependencies.ts";
import { requireAccess } from "./auth/access-control.ts";
import { authentication, withoutKeys } from "./auth/authentication.ts";
import { WrongKeyLimiter } from "./auth/wrong-key-limiter.ts";
import { EmbeddingHandler } from "./embedding/embedding-handler.ts";
import { GenerationHandler } from "./generation/generation-handler.ts";
import { accessLog } from "./http/access-log.ts";
import { BodyMemory } from "./http/context/body-memory.ts";
import { requestContext } from "./http/context/request-context.ts";
import { cors } from "./http/cors.ts";
import { errorMapper, unknownRoute } from "./http/error-mapper.ts";
import { hostCheck } from "./http/host-check.ts";
import { originCheck } from "./http/origin-check.ts";
import { AuthenticationMetrics } from "./metrics/authentication-metrics.ts";
import { LimitMetrics } from "./metrics/limit-metrics.ts";
import { cancelBatch, createBatch, listBatches, retrieveBatch } from "./routes/batches.ts";
import { chatReader } from "./routes/chat.ts";
import { completionReader } from "./routes/completions.ts";
import { embeddingsReader } from "./routes/embeddings.ts";
import { engines } from "./routes/engine.ts";
import { createFile, deleteFile, fileContent, listFiles, retrieveFile } from "./routes/files.ts";
import { health, ready } from "./routes/health.ts";
import { removeJob, retrieveJob } from "./routes/jobs.ts";
import { createKey, listKeys, retrieveKey, revokeKey, rotateKey, updateKey } from "./routes/keys.ts";
import { metrics } from "./routes/metrics.ts";
import { listModels, retrieveModel } from "./routes/models.ts";
import { openapi } from "./routes/openapi.ts";
import { eraseOwner, retrieveOwner, updateOwner } from "./routes/owners.ts";
import { rerankReader } from "./routes/rerank.ts";
import { detokenize, tokenize } from "./routes/tokenize.ts";
import { addUploadPart, cancelUpload, finishUpload, startUpload } from "./routes/uploads.ts";
import { completionsUsage, costs, embeddingsUsage } from "./routes/usage.ts";
import { welcome } from "./routes/welcome.ts";

type Handlers = Partial<Record<Operation["method"], RequestHandler>>;

const METHODS = ["get", "post", "patch", "delete"] as const satisfies readonly Operation["method"][];
const OPEN = new Set(
  operations.filter(({ access }) => access === "open" || access === "token").map(({ path }) => path),
);

/** The HTTP side as one request listener; see listen.ts for the socket's part. */
export function createApp(dependencies: AppDependencies): Express {
  const { models, options, clock, store, files, uploads, batches, jobs, keys, ending, version, grammars, log } =
    dependencies;
  const admission = new Admission(dependencies);
  const allowances = new Allowances({
    ...dependencies,
    rateLimits: new RateLimits(() => clock.now()),
    metrics: new LimitMetrics(
      dependencies.metrics.registry,
      models.list().map(({ id }) => id),
    ),
  });
  const { limits } = options;
  const serving = { ...dependencies, admission, allowances };
  const chat = new GenerationHandler("/v1/chat/completions", "chatcmpl", chatReader(limits), serving);
  const completions = new GenerationHandler("/v1/completions", "cmpl", completionReader(limits), serving);
  const embeddings = new EmbeddingHandler("/v1/embeddings", embeddingsReader(limits), serving);
  const rerank = new EmbeddingHandler("/v1/rerank", rerankReader(limits), serving);

  const app = express();
  app.disable("x-powered-by");
  app.disable("etag");
  app.set("query parser", false);
  // A rule of a proxy for /metrics is to cover all that is served as /metrics.
  app.enable("case sensitive routing");
  app.enable("strict routing");
  app.set("trust proxy", options.trustedProxies.length === 0 ? false : [...options.trustedProxies]);

  app.use(requestContext(clock, dependencies.randomId, new BodyMemory(options.bodyMemory)));
  app.use(hostCheck(options.host, options.allowedHosts));
  app.use(cors(options.corsOrigins));
  // A page can't send a key without a preflight, which cors() answers.
  if (!options.apiKeys) app.use(originCheck(options.corsOrigins));
  app.use(options.apiKeys ? keyCheck(dependencies) : withoutKeys);

  const serve = (path: string, handlers: Handlers) => addRoute(app, log, path, handlers);
  serve("/v1/chat/completions", { post: chat.handler });
  serve("/v1/completions", { post: completions.handler });
  for (const prefix of ["/v1", ""]) {
    serve(`${prefix}/tokenize`, { post: tokenize({ models, admission, allowances, options, grammars }) });
    serve(`${prefix}/detokenize`, { post: detokenize({ models, admission, allowances, options, grammars }) });
  }
  serve("/v1/embeddings", { post: embeddings.handler });
  serve("/v1/rerank", { post: rerank.handler });
  serve("/v1/models", { get: listModels(models) });
  serve("/v1/models/:model", { get: retrieveModel(models, admission) });
  serve("/v1/files", { get: listFiles(files), post: createFile(files) });
  serve("/v1/files/:file", { get: retrieveFile(files), delete: deleteFile(files) });
  serve("/v1/files/:file/content", { get: fileContent(files, options.stallMs) });
  serve("/v1/uploads", { post: startUpload(uploads) });
  serve("/v1/uploads/:upload/parts", { post: addUploadPart(uploads, files) });
  serve("/v1/uploads/:upload/complete", { post: finishUpload(uploads) });
  serve("/v1/uploads/:upload/cancel", { post: cancelUpload(uploads) });
  serve("/v1/batches", { get: listBatches(batches), post: createBatch(batches) });
  serve("/v1/batches/:id", { get: retrieveBatch(batches) });
  serve("/v1/batches/:id/cancel", { post: cancelBatch(batches) });
  serve("/v1/nightshift/jobs/:id", { get: retrieveJob(jobs, clock), delete: removeJob(jobs) });
  serve("/v1/nightshift/keys", { get: listKeys(keys), post: createKey(keys, clock) });
  serve("/v1/nightshift/keys/:id", {
    get: retrieveKey(keys),
    patch: updateKey(keys, clock),
    delete: revokeKey(keys, batches),
  });
  serve("/v1/nightshift/keys/:id/rotate", { post: rotateKey(keys) });
  serve("/v1/nightshift/owners/:owner", {
    get: retrieveOwner(dependencies),
    patch: updateOwner(dependencies),
    delete: eraseOwner(dependencies),
  });
  const reports = { store, queue: new ReportQueue(), clock };
  serve("/v1/organization/usage/completions", { get: completionsUsage(reports) });
  serve("/v1/organization/usage/embeddings", { get: embeddingsUsage(reports) });
  serve("/v1/organization/costs", { get: costs(reports, options.machinePrice) });
  serve("/v1/nightshift/engine", { get: engines(models, options.machinePrice) });
  serve("/", { get: welcome(models, version, options.apiKeys) });
  serve("/health", { get: health(version) });
  serve("/ready", { get: ready(models, store, ending, options.apiKeys) });
  serve("/metrics", { get: metrics(dependencies.metrics.registry, options.host, options.metricsToken) });
  serve("/openapi.json", { get: openapi(limits, version) });

  app.use(unknownRoute);
  app.use(errorMapper(log));
  return app;
}

function keyCheck({ keys, clock, metrics: { registry }, log }: AppDependencies): RequestHandler {
  const limiter = new WrongKeyLimiter(() => clock.now());
  return authentication({ keys, limiter, metrics: new AuthenticationMetrics(registry), log }, OPEN);
}

/**
 * Serves a path of the OpenAPI document, to those whom it names for each method; HEAD is answered as GET without the
 * body. Throws for what the document does not have.
 */
function addRoute(app: Express, log: Log, path: string, handlers: Handlers): void {
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
