import { validate } from "../../openapi/generation/validate.ts";
import { ignoredNames } from "../../openapi/ignored-fields.ts";
import type { RequestLimits } from "../../openapi/request-limits.ts";
import { type RerankRequest, type RerankResponse, rerankRequest } from "../../openapi/resources/rerank.ts";
import type { VectorRequest } from "../embedding/vector-request.ts";
import { leavesTier, tierOf } from "../generation/generation-settings.ts";

/** Reads bodies of POST /v1/rerank. */
export function rerankReader(limits: RequestLimits): (body: unknown) => VectorRequest {
  const schema = rerankRequest(limits);
  return (json) => {
    const body = validate(schema, json);
    return {
      model: body.model,
      tier: tierOf(body.service_tier),
      openTier: leavesTier(body.service_tier),
      ignored: ignoredNames(Object(json), schema),
      task: "rank",
      inputs: body.documents.map((document) => ({ kind: "pair", query: body.query, document })),
      dimensions: null,
      write: async (model, scores, promptTokens, mark) =>
        JSON.stringify({ ...ranked(body, model, scores, promptTokens), ...mark }),
    };
  };
}

/** Sorted by relevance, equal ones in the order of the request. The first score of a model is the relevance. */
function ranked(
  { documents, top_n, return_documents }: RerankRequest,
  model: string,
  scores: readonly Float32Array[],
  promptTokens: number,
): RerankResponse {
  const results = scores.map((score, index) => ({
    index,
    relevance_score: score[0] ?? 0,
    ...(return_documents === true && { document: { text: documents[index]! } }),
  }));
  results.sort((a, b) => b.relevance_score - a.relevance_score || a.index - b.index);
  const usage = { prompt_tokens: promptTokens, total_tokens: promptTokens };
  return { object: "list", model, results: results.slice(0, top_n ?? results.length), usage };
}
