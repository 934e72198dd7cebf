/** Endpoints that generate. */
export type GenerationPath =
  | "/v1/chat/completions"
  | "/v1/completions"
  | "/v1/messages"
  | "/v1/responses"
  | "/infill"
  | "/api/chat"
  | "/api/generate";
/** Endpoints that return vectors, or scores of them. */
export type VectorPath = "/v1/embeddings" | "/v1/rerank" | "/api/embed" | "/api/embeddings";
/** Endpoints that an engine answers; the only values of the label `endpoint` of metrics. */
export type InferencePath = GenerationPath | VectorPath;
