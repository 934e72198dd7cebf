import { VectorEndpoint } from "../../embedding/vector-endpoint.ts";
import type { VectorRunDeps } from "../../embedding/vector-run.ts";
import { GenerationEndpoint, type GenerationEndpointDeps } from "../../generation/generation-endpoint.ts";
import type { InferenceEndpoint } from "../../inference/endpoint.ts";
import type { AppOptions } from "../../options/app-options.ts";
import { emptyAnswer } from "./answer-lines.ts";
import { chatMessage, ollamaChatDialect } from "./chat.ts";
import { ollamaEmbeddingsReader, ollamaEmbedReader } from "./embed.ts";
import { OllamaEndpoint, type OllamaEndpointDeps } from "./endpoint.ts";
import { generatedText, ollamaGenerateDialect } from "./generate.ts";

export interface OllamaEndpointsDeps extends OllamaEndpointDeps, GenerationEndpointDeps, VectorRunDeps {
  options: Pick<AppOptions, "limits" | "streamBuffer" | "stallMs" | "silenceMs">;
}

/** The endpoints of Ollama's API that engines answer, by path. */
export function ollamaEndpoints(deps: OllamaEndpointsDeps): Record<string, InferenceEndpoint> {
  const { clock } = deps;
  const { limits } = deps.options;
  const chat = new OllamaEndpoint(
    {
      prompted: new GenerationEndpoint(ollamaChatDialect(limits, clock), deps),
      prompt: ["messages"],
      empty: (model, reason) => emptyAnswer({ model }, clock, chatMessage, reason),
    },
    deps,
  );
  const generate = new OllamaEndpoint(
    {
      prompted: new GenerationEndpoint(ollamaGenerateDialect(limits, clock), deps),
      prompt: ["prompt", "suffix"],
      empty: (model, reason) => emptyAnswer({ model }, clock, generatedText, reason),
    },
    deps,
  );
  const embed = new OllamaEndpoint(
    {
      prompted: new VectorEndpoint("/api/embed", ollamaEmbedReader(limits, clock), deps),
      prompt: ["input"],
      empty: (model) => ({ model, embeddings: [] }),
    },
    deps,
  );
  const embeddings = new OllamaEndpoint(
    {
      prompted: new VectorEndpoint("/api/embeddings", ollamaEmbeddingsReader(limits), deps),
      prompt: ["prompt"],
      empty: () => ({ embedding: [] }),
    },
    deps,
  );
  return { "/api/chat": chat, "/api/generate": generate, "/api/embed": embed, "/api/embeddings": embeddings };
}
