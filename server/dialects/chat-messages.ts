import type { ChatMessage } from "../../engine/protocol/prompt.ts";
import type { RequestMessage } from "../../openapi/generation/message.ts";

type Content = RequestMessage["content"];

/** A message of a turn: its content as one text, without unset fields. */
export function turnMessage(message: RequestMessage): ChatMessage {
  switch (message.role) {
    case "assistant":
      return assistantMessage(message);
    case "tool":
      return { role: "tool", content: flatten(message.content), tool_call_id: message.tool_call_id };
    default: {
      const { role, content, name } = message;
      return { role, content: flatten(content), ...(name != null && { name }) };
    }
  }
}

function assistantMessage(message: Extract<RequestMessage, { role: "assistant" }>): ChatMessage {
  const { name, reasoning_content, tool_calls, function_call } = message;
  const legacy = function_call == null ? [] : [{ id: "call_0", type: "function" as const, function: function_call }];
  const calls = tool_calls?.length ? tool_calls : legacy;
  return {
    role: "assistant",
    content: flatten(message.content) ?? message.refusal ?? null,
    ...(name != null && { name }),
    ...(reasoning_content != null && { reasoning_content }),
    ...(calls.length > 0 && { tool_calls: calls }),
  };
}

/** Joins parts by a line break, as llama-server and vLLM do. */
function flatten(content: Content): string | null {
  if (content == null || typeof content === "string") return content ?? null;
  return content.map(partText).join("\n");
}

function partText(part: Exclude<Content, string | null | undefined>[number]): string {
  if ("text" in part) return part.text;
  return "refusal" in part ? part.refusal : "";
}
