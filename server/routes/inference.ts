import type { RequestHandler } from "express";
import { RateLimits } from "../../ledger/rate-limits.ts";
import { Admission, type AdmissionDeps } from "../admission/admission.ts";
import { UsageLimits, type UsageLimitsDeps } from "../admission/usage-limits.ts";
import { countTokensReader } from "../dialects/anthropic/count-tokens.ts";
import { messagesDialect } from "../dialects/anthropic/messages.ts";
import { chatDialect } from "../dialects/chat.ts";
import type { CompletionStore } from "../dialects/chat-storage.ts";
import { completionDialect } from "../dialects/completions.ts";
import { embeddingsReader } from "../dialects/embeddings.ts";
import { infillDialect } from "../dialects/infill/infill.ts";
import { ollamaEndpoints } from "../dialects/ollama/endpoints.ts";
import { rerankReader } from "../dialects/rerank.ts";
import type { BackgroundQueue } from "../dialects/responses/background.ts";
import { compactDialect } from "../dialects/responses/compact.ts";
import { inputTokensReader } from "../dialects/responses/input-tokens.ts";
import type { ResponseState } from "../dialects/responses/response-state.ts";
import { ResponsesEndpoint } from "../dialects/responses/responses-endpoint.ts";
import type { Seal } from "../dialects/responses/sealed-text.ts";
import { detokenizeReader, TokenEndpoint, tokenizeReader } from "../dialects/tokenize.ts";
import { VectorEndpoint } from "../embedding/vector-endpoint.ts";
import { GenerationEndpoint, type GenerationEndpointDeps } from "../generation/generation-endpoint.ts";
import type { Routes } from "../http/routes.ts";
import { type AnswerDeps, answer } from "../inference/answer.ts";
import type { InferenceEndpoint } from "../inference/endpoint.ts";
import { Exchange } from "../inference/exchange.ts";
import { LimitMetrics } from "../metrics/limit-metrics.ts";
import type { Metrics } from "../metrics/metrics.ts";
import { RouteMetrics } from "../metrics/route-metrics.ts";
import type { ServedModel } from "../models/model-set.ts";
import type { AppOptions } from "../options/app-options.ts";
import type { LearnedCosts } from "../routing/learned-costs.ts";
import { modelState } from "../routing/model-state.ts";
import type { Route } from "../routing/route.ts";
import { RouteTally } from "../routing/route-tally.ts";
import { Router } from "../routing/router.ts";
import { listRoutes } from "./route-reports.ts";

export interface InferenceRouteParts
  extends AdmissionDeps,
    Omit<UsageLimitsDeps, "rateLimits" | "limitMetrics">,
    GenerationEndpointDeps,
    Omit<AnswerDeps, "admission" | "limits" | "router" | "routeTally"> {
  routes: readonly Route[];
  /** Of routed requests. */
  costs: LearnedCosts;
  metrics: Metrics;
  options: AppOptions;
  completions: CompletionStore;
  /** Of the reasoning in responses. */
  seal: Seal;
  responseState: ResponseState;
  /** Where background responses are created. */
  background: BackgroundQueue;
}

/** Routes that engines answer, all on the path of `answer`. */
export function inferenceRoutes(parts: InferenceRouteParts): Routes {
  const { clock, completions, grammars, loads, metrics, models, options } = parts;
  const admission = new Admission(parts);
  const limitMetrics = new LimitMetrics(metrics.registry);
  const watch = (model: ServedModel) => {
    metrics.watch(model.id, loads.of(model.id), (tier) => admission.predictedWaitMs(model, tier));
    limitMetrics.watch(model.id);
  };
  for (const model of models.list()) watch(model);
  models.added(watch);
  const limits = new UsageLimits({ ...parts, rateLimits: new RateLimits(() => clock.now()), limitMetrics });
  const stateOf = modelState({ models, loads, admission, prices: parts.prices, costs: parts.costs });
  const router = new Router({ routes: parts.routes, stateOf, epochMs: () => clock.epochMs(), now: () => clock.now() });
  const observer = new RouteMetrics(metrics.registry, parts.routes);
  const routeTally = new RouteTally({ prices: parts.prices, observer, epochMs: () => clock.epochMs() });
  const deps = { ...parts, admission, limits, router, routeTally };
  const post = (endpoint: InferenceEndpoint): { post: RequestHandler } => ({
    post: (req, res) => answer(new Exchange(req, res), endpoint, deps),
  });

  const responses = { limits: options.limits, seal: parts.seal, state: parts.responseState };
  const tokenize = post(new TokenEndpoint(tokenizeReader(options.limits), grammars));
  const detokenize = post(new TokenEndpoint(detokenizeReader(options.limits), grammars));
  return {
    "/v1/chat/completions": post(new GenerationEndpoint(chatDialect(options.limits, completions), deps)),
    "/v1/completions": post(new GenerationEndpoint(completionDialect(options.limits), deps)),
    "/infill": post(new GenerationEndpoint(infillDialect(options.limits), deps)),
    "/v1/messages": post(new GenerationEndpoint(messagesDialect(options.limits), deps)),
    "/v1/messages/count_tokens": post(new TokenEndpoint(countTokensReader(options.limits), grammars)),
    "/v1/responses": post(new ResponsesEndpoint(responses, deps)),
    "/v1/responses/compact": post(new GenerationEndpoint(compactDialect(responses), deps)),
    "/v1/responses/input_tokens": post(new TokenEndpoint(inputTokensReader(responses), grammars, "input")),
    "/v1/embeddings": post(new VectorEndpoint("/v1/embeddings", embeddingsReader(options.limits), deps)),
    "/v1/rerank": post(new VectorEndpoint("/v1/rerank", rerankReader(options.limits), deps)),
    "/v1/tokenize": tokenize,
    "/tokenize": tokenize,
    "/v1/detokenize": detokenize,
    "/detokenize": detokenize,
    "/v1/nightshift/routes": { get: listRoutes(deps) },
    ...(options.ollama === "off" ? {} : mapped(ollamaEndpoints(deps), post)),
  };
}

function mapped<From, To>(values: Readonly<Record<string, From>>, map: (value: From) => To): Record<string, To> {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, map(value)]));
}
