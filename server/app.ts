import express, { type Express, type RequestHandler } from "express";
import { ApiError } from "../openapi/api-error.ts";
import { Admission } from "./admission.ts";
import type { AppDependencies } from "./dependencies.ts";
import { EmbeddingRoute } from "./embedding-route.ts";
import { GenerationRoute } from "./generation-route.ts";
import { cors } from "./middleware/cors.ts";
import { errorMapper, unknownRoute } from "./middleware/error-mapper.ts";
import { hostCheck } from "./middleware/host-check.ts";
import { requestContext } from "./middleware/request-context.ts";
import { cancelBatch, createBatch, listBatches, retrieveBatch } from "./routes/batches.ts";
import { chatReader } from "./routes/chat.ts";
import { completionReader } from "./routes/completions.ts";
import { embeddingsReader } from "./routes/embeddings.ts";
import { engines } from "./routes/engine.ts";
import { createFile, deleteFile, fileContent, listFiles, retrieveFile } from "./routes/files.ts";
import { health, ready } from "./routes/health.ts";
import { removeJob, retrieveJob } from "./routes/jobs.ts";
import { metrics } from "./routes/metrics.ts";
import { listModels, retrieveModel } from "./routes/models.ts";
import { openapi } from "./routes/openapi.ts";
import { rerankReader } from "./routes/rerank.ts";
import { detokenize, tokenize } from "./routes/tokenize.ts";
import { addUploadPart, cancelUpload, finishUpload, startUpload } from "./routes/uploads.ts";
import { completionsUsage, costs, embeddingsUsage } from "./routes/usage.ts";

/** The HTTP side as one request listener; see listen.ts for the socket's part. */
export function createApp(dependencies: AppDependencies): Express {
  const { models, options, clock, store, files, uploads, batches, jobs, draining, version, log } = dependencies;
  const admission = new Admission(dependencies);
  const chat = new GenerationRoute(
    "/v1/chat/completions",
    "chatcmpl",
    dependencies,
    admission,
    chatReader(options.limits),
  );
  const completions = new GenerationRoute(
    "/v1/completions",
    "cmpl",
    dependencies,
    admission,
    completionReader(options.limits),
  );

  const embeddings = new EmbeddingRoute("/v1/embeddings", dependencies, admission, embeddingsReader(options.limits));
  const rerank = new EmbeddingRoute("/v1/rerank", dependencies, admission, rerankReader(options.limits));

  const app = express();
  app.disable("x-powered-by");
  app.disable("etag");
  app.set("query parser", false);

  app.use(requestContext(clock, dependencies.randomId));
  app.use(hostCheck(options.host, options.allowedHosts));
  app.use(cors(options.corsOrigins));

  post(app, "/v1/chat/completions", chat.handler);
  post(app, "/v1/completions", completions.handler);
  for (const prefix of ["/v1", ""]) {
    post(app, `${prefix}/tokenize`, tokenize({ models, admission, options }));
    post(app, `${prefix}/detokenize`, detokenize({ models, admission, options }));
  }
  post(app, "/v1/embeddings", embeddings.handler);
  post(app, "/v1/rerank", rerank.handler);
  get(app, "/v1/models", listModels(models));
  get(app, "/v1/models/:model", retrieveModel(admission));
  app.route("/v1/files").post(createFile(files)).get(listFiles(files)).all(otherMethod("GET, HEAD, POST, OPTIONS"));
  app
    .route("/v1/files/:file")
    .get(retrieveFile(files))
    .delete(deleteFile(files))
    .all(otherMethod("GET, HEAD, DELETE, OPTIONS"));
  get(app, "/v1/files/:file/content", fileContent(files, options.stallMs));
  post(app, "/v1/uploads", startUpload(uploads));
  post(app, "/v1/uploads/:upload/parts", addUploadPart(uploads, files));
  post(app, "/v1/uploads/:upload/complete", finishUpload(uploads));
  post(app, "/v1/uploads/:upload/cancel", cancelUpload(uploads));
  app
    .route("/v1/batches")
    .post(createBatch(batches))
    .get(listBatches(batches))
    .all(otherMethod("GET, HEAD, POST, OPTIONS"));
  get(app, "/v1/batches/:id", retrieveBatch(batches));
  post(app, "/v1/batches/:id/cancel", cancelBatch(batches));
  app
    .route("/v1/nightshift/jobs/:id")
    .get(retrieveJob(jobs, clock))
    .delete(removeJob(jobs))
    .all(otherMethod("GET, HEAD, DELETE, OPTIONS"));
  get(app, "/v1/organization/usage/completions", completionsUsage(store, clock));
  get(app, "/v1/organization/usage/embeddings", embeddingsUsage(store, clock));
  get(app, "/v1/organization/costs", costs(store, options.machinePrice, clock));
  get(app, "/v1/nightshift/engine", engines(models, options.machinePrice));
  get(app, "/health", health(version));
  get(app, "/ready", ready(models, store, draining));
  get(app, "/metrics", metrics(dependencies.metrics.registry, options.host, options.metricsToken));
  get(app, "/openapi.json", openapi(options.limits, version));

  app.use(unknownRoute);
  app.use(errorMapper(log));
  return app;
}

/** HEAD is answered as GET without the body. */
function get(app: Express, path: string, handler: RequestHandler): void {
  app.route(path).get(handler).all(otherMethod("GET, HEAD, OPTIONS"));
}

function post(app: Express, path: string, handler: RequestHandler): void {
  app.route(path).post(handler).all(otherMethod("POST, OPTIONS"));
}

function otherMethod(allow: string): RequestHandler {
  return (req, res) => {
    res.setHeader("allow", allow);
    if (req.method === "OPTIONS") {
      res.writeHead(204).end();
      return;
    }
    const message = `Not allowed to ${req.method} on ${req.path.slice(0, 256)}; allowed: ${allow}.`;
    throw new ApiError({ status: 405, type: "invalid_request_error", code: "method_not_allowed", message });
  };
}
