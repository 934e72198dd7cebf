import type { ModelInfo } from "../../../openapi/anthropic/models.ts";
import { type AnthropicPage, type AnthropicPageQuery, anthropicPage } from "../../../openapi/anthropic/page.ts";
import { invalidRequest } from "../../../openapi/api-error.ts";
import type { Model } from "../../../openapi/resources/models.ts";

/** A model in Anthropic's form. */
export function modelInfo({ id, created, nightshift }: Model): ModelInfo {
  return {
    type: "model",
    id,
    display_name: id,
    created_at: new Date(created * 1000).toISOString(),
    max_input_tokens: nightshift.context,
    max_tokens: nightshift.context,
    capabilities: null,
  };
}

/** The page of the list that a query names. Throws 400 for an id that the list does not have. */
export function modelPage(models: readonly Model[], query: AnthropicPageQuery): AnthropicPage<ModelInfo> {
  const { limit, after_id, before_id } = query;
  const begin = after_id === undefined ? 0 : placeOf(models, "after_id", after_id) + 1;
  const end = before_id === undefined ? models.length : placeOf(models, "before_id", before_id);
  const first = before_id === undefined ? begin : Math.max(0, end - limit);
  const data = models.slice(first, Math.min(end, first + limit)).map(modelInfo);
  return anthropicPage(data, before_id === undefined ? first + limit < end : first > 0);
}

function placeOf(models: readonly Model[], param: "after_id" | "before_id", id: string): number {
  const place = models.findIndex((model) => model.id === id);
  if (place !== -1) return place;
  throw invalidRequest("invalid_value", param, `Invalid '${param}': there is no model '${id.slice(0, 64)}'.`);
}
