import type { ChatMessage } from "../../../engine/protocol/prompt.ts";
import type { OllamaMessage } from "../../../openapi/ollama/chat.ts";

type Call = NonNullable<ChatMessage["tool_calls"]>[number];

/**
 * The messages of a turn. Clients often send neither the ids of calls nor those that results answer: a result without an id
 * answers the first unanswered call of its function, or of any where it names none.
 */
export function turnMessages(messages: readonly OllamaMessage[]): ChatMessage[] {
  let unanswered: Call[] = [];
  let made = 0;
  return messages.map((message) => {
    const content = message.content ?? null;
    switch (message.role) {
      case "assistant": {
        const calls = (message.tool_calls ?? []).map((call) => turnCall(call, () => `call_${made++}`));
        if (calls.length > 0) unanswered = [...calls];
        return {
          role: "assistant",
          content,
          ...(message.thinking != null && { reasoning_content: message.thinking }),
          ...(calls.length > 0 && { tool_calls: calls }),
        };
      }
      case "tool": {
        const answered = answeredCall(message, unanswered);
        unanswered = unanswered.filter((call) => call !== answered);
        return toolMessage(message, answered);
      }
      default:
        return { role: message.role, content: content ?? "" };
    }
  });
}

function turnCall(call: NonNullable<OllamaMessage["tool_calls"]>[number], newId: () => string): Call {
  const { name, arguments: args } = call.function;
  return { id: call.id || newId(), type: "function", function: { name, arguments: JSON.stringify(args ?? {}) } };
}

function answeredCall({ tool_call_id, tool_name }: OllamaMessage, unanswered: readonly Call[]): Call | undefined {
  if (tool_call_id) return unanswered.find(({ id }) => id === tool_call_id);
  if (!tool_name) return unanswered[0];
  return unanswered.find((call) => call.function.name === tool_name) ?? unanswered[0];
}

function toolMessage({ content, tool_call_id, tool_name }: OllamaMessage, answered: Call | undefined): ChatMessage {
  const id = tool_call_id || answered?.id;
  const name = tool_name || answered?.function.name;
  return { role: "tool", content: content ?? "", ...(id && { tool_call_id: id }), ...(name && { name }) };
}
