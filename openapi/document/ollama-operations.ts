import type { Operation } from "./operation.ts";

const failures = {
  "400": "The request is not valid, uses an unsupported feature, or exceeds the context.",
  "404": "No such model, or --ollama is off.",
  "413": "The body is too large.",
  "415": "The encoding of the body is not supported.",
};
const runFailures = {
  ...failures,
  "429": "A limit or budget of the API key is reached.",
  "500": "The engine failed.",
  "503": "The model is not ready, or too many requests wait. See Retry-After.",
};

const lines = { streamType: "application/x-ndjson", error: "OllamaError" } as const;

const generation: Operation[] = [
  {
    method: "post",
    path: "/api/chat",
    id: "ollamaChat",
    access: "inference",
    summary:
      "Answer a conversation, as a stream of lines or in one response. Without messages, load or unload the model.",
    request: "OllamaChatRequest",
    response: "OllamaChatAnswer",
    stream: "OllamaChatAnswer",
    ...lines,
    failures: runFailures,
  },
  {
    method: "post",
    path: "/api/generate",
    id: "ollamaGenerate",
    access: "inference",
    summary: "Answer a prompt, as a stream of lines or in one response. Without a prompt, load or unload the model.",
    request: "OllamaGenerateRequest",
    response: "OllamaGenerateAnswer",
    stream: "OllamaGenerateAnswer",
    ...lines,
    failures: runFailures,
  },
];

const vectors: Operation[] = [
  {
    method: "post",
    path: "/api/embed",
    id: "ollamaEmbed",
    access: "inference",
    summary: "Compute an embedding vector for each of one or more texts.",
    request: "OllamaEmbedRequest",
    response: "OllamaEmbedAnswer",
    error: "OllamaError",
    failures: runFailures,
  },
  {
    method: "post",
    path: "/api/embeddings",
    id: "ollamaEmbeddings",
    access: "inference",
    summary: "Compute the embedding vector of one text: the older form of /api/embed.",
    request: "OllamaEmbeddingsRequest",
    response: "OllamaEmbeddingsAnswer",
    error: "OllamaError",
    failures: runFailures,
  },
];

const models: Operation[] = [
  {
    method: "get",
    path: "/api/version",
    id: "ollamaVersion",
    access: "key",
    summary: "The version of Ollama whose API this is.",
    response: "OllamaVersion",
    error: "OllamaError",
    failures: {},
  },
  {
    method: "get",
    path: "/api/tags",
    id: "ollamaTags",
    access: "key",
    summary: "List the models of this server.",
    response: "OllamaTags",
    error: "OllamaError",
    failures: {},
  },
  {
    method: "get",
    path: "/api/ps",
    id: "ollamaPs",
    access: "key",
    summary: "List the models in memory.",
    response: "OllamaLoaded",
    error: "OllamaError",
    failures: {},
  },
  {
    method: "post",
    path: "/api/show",
    id: "ollamaShow",
    access: "key",
    summary: "Describe a model.",
    request: "OllamaShowRequest",
    response: "OllamaModel",
    error: "OllamaError",
    failures,
  },
  {
    method: "post",
    path: "/api/pull",
    id: "ollamaPull",
    access: "key",
    summary: "Report that a served model is there. Nothing is downloaded.",
    request: "OllamaPullRequest",
    response: "OllamaStatus",
    stream: "OllamaStatus",
    ...lines,
    failures,
  },
];

/** Operations that are answered with 501. */
const unmanaged = (
  [
    ["post", "/api/create", "ollamaCreate"],
    ["post", "/api/copy", "ollamaCopy"],
    ["post", "/api/push", "ollamaPush"],
    ["delete", "/api/delete", "ollamaDelete"],
    ["get", "/api/blobs/:digest", "ollamaBlob"],
    ["post", "/api/blobs/:digest", "ollamaCreateBlob"],
  ] as const
).map(
  ([method, path, id]): Operation => ({
    method,
    path,
    id,
    access: "key",
    summary: "Not supported: the operator of the server manages its models.",
    response: "object",
    error: "OllamaError",
    failures: { "501": "Always." },
  }),
);

/** Ollama's API, which is served with --ollama on. */
export const ollamaOperations: readonly Operation[] = [...generation, ...vectors, ...models, ...unmanaged];
