import { validate } from "../../../openapi/generation/validate.ts";
import { ignoredNames } from "../../../openapi/ignored-fields.ts";
import { ollamaEmbeddingsRequest, ollamaEmbedRequest } from "../../../openapi/ollama/embed.ts";
import type { RequestLimits } from "../../../openapi/request-limits.ts";
import type { Clock } from "../../../platform/clock.ts";
import { numberLists, shortened } from "../../embedding/vector-json.ts";
import type { VectorRequest } from "../../embedding/vector-request.ts";
import { nanoseconds } from "./answer-lines.ts";

/** Reads bodies of POST /api/embed. */
export function ollamaEmbedReader(limits: RequestLimits, clock: Pick<Clock, "now">): (body: unknown) => VectorRequest {
  const schema = ollamaEmbedRequest(limits);
  return (json) => {
    const readAt = clock.now();
    const body = validate(schema, json);
    const texts = typeof body.input === "string" ? [body.input] : (body.input ?? []);
    const dimensions = body.dimensions ?? null;
    return {
      model: body.model,
      tier: "default",
      ignored: ignoredNames(Object(json), schema),
      task: "embed",
      inputs: texts.map((text) => ({ kind: "text", text })),
      dimensions,
      ...(body.truncate !== false && { truncate: true }),
      async write(_model, vectors, promptTokens, mark) {
        const lists = await numberLists(vectors.map((vector) => shortened(vector, dimensions)));
        const counts = { total_duration: nanoseconds(clock.now() - readAt), prompt_eval_count: promptTokens };
        const [head, rest] = [
          JSON.stringify({ model: body.model }).slice(0, -1),
          JSON.stringify({ ...counts, ...mark }).slice(1),
        ];
        return `${head},"embeddings":[${lists}],${rest}`;
      },
    };
  };
}

/** Reads bodies of POST /api/embeddings, the older form. */
export function ollamaEmbeddingsReader(limits: RequestLimits): (body: unknown) => VectorRequest {
  const schema = ollamaEmbeddingsRequest(limits);
  return (json) => {
    const body = validate(schema, json);
    return {
      model: body.model,
      tier: "default",
      ignored: ignoredNames(Object(json), schema),
      task: "embed",
      inputs: [{ kind: "text", text: body.prompt ?? "" }],
      dimensions: null,
      truncate: true,
      write: async (_model, vectors) => `{"embedding":${await numberLists(vectors)}}`,
    };
  };
}
