import type { EmbeddingInput } from "../../engine/protocol/embedding.ts";
import { validate } from "../../openapi/generation/validate.ts";
import { ignoredNames } from "../../openapi/ignored-fields.ts";
import type { RequestLimits } from "../../openapi/request-limits.ts";
import { type EmbeddingsRequest, embeddingsRequest } from "../../openapi/resources/embeddings.ts";
import { embeddingItems, shortened } from "../embedding/vector-json.ts";
import type { VectorRequest } from "../embedding/vector-request.ts";
import { leavesTier, tierOf } from "../generation/generation-settings.ts";

/** Reads bodies of POST /v1/embeddings. */
export function embeddingsReader(limits: RequestLimits): (body: unknown) => VectorRequest {
  const schema = embeddingsRequest(limits);
  return (json) => {
    const body = validate(schema, json);
    const dimensions = body.dimensions ?? null;
    return {
      model: body.model,
      tier: tierOf(body.service_tier),
      openTier: leavesTier(body.service_tier),
      ignored: ignoredNames(Object(json), schema),
      task: "embed",
      inputs: inputsOf(body.input),
      dimensions,
      async write(model, vectors, promptTokens, mark) {
        const short = vectors.map((vector) => shortened(vector, dimensions));
        const items = await embeddingItems(short, body.encoding_format ?? "float");
        const usage = { prompt_tokens: promptTokens, total_tokens: promptTokens };
        const rest = JSON.stringify({ model, usage, ...mark }).slice(1);
        return `{"object":"list","data":[${items}],${rest}`;
      },
    };
  };
}

function inputsOf(input: EmbeddingsRequest["input"]): EmbeddingInput[] {
  if (typeof input === "string") return [{ kind: "text", text: input }];
  const numbers = input.filter((item) => typeof item === "number");
  if (numbers.length > 0) return [{ kind: "tokens", tokens: numbers }];
  return input.flatMap((item): EmbeddingInput[] => {
    if (typeof item === "string") return [{ kind: "text", text: item }];
    return Array.isArray(item) ? [{ kind: "tokens", tokens: item }] : [];
  });
}
