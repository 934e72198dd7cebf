import type { MessagesRequest } from "../../../openapi/anthropic/messages.ts";
import { isClientTool } from "../../../openapi/anthropic/tools.ts";

/** The tools of Anthropic's types, which a request has and the model is not told of. */
export function skippedTools({ tools }: Pick<MessagesRequest, "tools">): string[] {
  return [...new Set((tools ?? []).flatMap((tool) => (isClientTool(tool) ? [] : [`tools.${tool.type}`])))];
}
