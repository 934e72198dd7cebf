import type { ResponsesRequest } from "../../../openapi/responses/request.ts";

/** The tools and items of hosted types, which a request has and the model is not told of. */
export function skippedNames({ tools, input }: Pick<ResponsesRequest, "tools" | "input">): string[] {
  const skippedTools = (tools ?? []).flatMap((tool) => (tool.type === "hosted" ? [`tools.${tool.of}`] : []));
  const items = Array.isArray(input) ? input : [];
  const skippedItems = items.flatMap((item) => (item.type === "hosted" ? [`input.${item.of}`] : []));
  return [...new Set([...skippedTools, ...skippedItems])];
}
