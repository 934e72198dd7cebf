import type { ChatMessage } from "../../../engine/protocol/prompt.ts";
import type { ContentBlock, MessageParam, SystemContent } from "../../../openapi/anthropic/content.ts";
import { invalidRequest } from "../../../openapi/api-error.ts";
import { blockText, joined, resultText, systemText } from "./block-text.ts";
import { ownCallId } from "./call-id.ts";

interface Conversation {
  messages: ChatMessage[];
  /** The text of a last message of the assistant; absent where the last message is another. */
  answerStart?: string;
}

/** Neighbouring messages of one role. */
interface Group {
  role: MessageParam["role"];
  blocks: ContentBlock[];
}

/** The messages of a valid body. Throws 400 for a beginning of the answer that ends with white space. */
export function conversation(system: SystemContent, params: readonly MessageParam[]): Conversation {
  const given = systemText(system);
  const first: MessageParam[] = given === "" ? [] : [{ role: "system", content: given }];
  const groups = grouped([...first, ...params]);
  const last = groups.at(-1);
  if (last?.role !== "assistant" || last.blocks.some(({ type }) => type === "tool_use")) {
    return { messages: groups.flatMap(messagesOf) };
  }
  const messages = groups.slice(0, -1).flatMap(messagesOf);
  const answerStart = textOf(last);
  if (answerStart === "") return { messages };
  if (answerStart !== answerStart.trimEnd()) {
    const rule = "the text that the answer continues must not end with white space";
    throw invalidRequest("invalid_value", "messages", `Invalid 'messages': ${rule}.`);
  }
  return { messages, answerStart };
}

function grouped(params: readonly MessageParam[]): Group[] {
  const groups: Group[] = [];
  for (const { role, content } of params) {
    const blocks: ContentBlock[] = typeof content === "string" ? [{ type: "text", text: content }] : content;
    const last = groups.at(-1);
    if (last?.role === role) last.blocks = [...last.blocks, ...blocks];
    else groups.push({ role, blocks });
  }
  return groups;
}

function messagesOf(group: Group): ChatMessage[] {
  switch (group.role) {
    case "system": {
      const blocks = group.blocks.filter((block) => block.type === "text");
      const content = systemText(blocks);
      return content === "" ? [] : [{ role: "system", content }];
    }
    case "assistant":
      return [assistantMessage(group)];
    case "user":
      return userMessages(group);
  }
}

/** Results come first: a model reads them directly behind its calls. */
function userMessages(group: Group): ChatMessage[] {
  const results = group.blocks.flatMap((block): ChatMessage[] => {
    if (block.type !== "tool_result") return [];
    const text = resultText(block.content);
    const content = block.is_error === true ? `Error: ${text}` : text;
    return [{ role: "tool", content, tool_call_id: ownCallId(block.tool_use_id) }];
  });
  const content = textOf(group);
  return content === "" && results.length > 0 ? results : [...results, { role: "user", content }];
}

function assistantMessage(group: Group): ChatMessage {
  const thoughts = joined(group.blocks.flatMap((block) => (block.type === "thinking" ? [block.thinking] : [])));
  const calls = group.blocks.flatMap((block) => {
    if (block.type !== "tool_use") return [];
    const called = { name: block.name, arguments: JSON.stringify(block.input) };
    return [{ id: ownCallId(block.id), type: "function" as const, function: called }];
  });
  const content = textOf(group);
  return {
    role: "assistant",
    content: content === "" && calls.length > 0 ? null : content,
    ...(thoughts !== "" && { reasoning_content: thoughts }),
    ...(calls.length > 0 && { tool_calls: calls }),
  };
}

function textOf({ blocks }: Group): string {
  return joined(blocks.map((block) => blockText(block) ?? ""));
}
