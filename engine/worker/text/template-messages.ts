import type { ChatMessage } from "../../protocol.ts";
import type { TemplateTraits } from "./template-traits.ts";

/** The depth that the server allows a request's own JSON; arguments are JSON inside of a string, which it can't see. */
const DEEPEST = 64;

export type TemplateMessage = Record<string, unknown> & { role: string };

/**
 * Messages as a template of these traits takes them:
 * - `developer` becomes `system` where the template does not know it;
 * - where the template has no system role, these messages' text goes before the first user message's;
 * - fields without a value are left out, since templates ask `'tool_calls' in message`;
 * - thoughts of earlier answers are in the field where the template looks for them, or left out;
 * - a tool call's arguments are parsed where the template wants an object.
 */
export function templateMessages(messages: ChatMessage[], traits: TemplateTraits): TemplateMessage[] {
  const named = messages.map((message) =>
    message.role === "developer" && !traits.developer ? { ...message, role: "system" as const } : message,
  );
  return (traits.system ? named : withoutSystem(named)).map((message) => templateMessage(message, traits));
}

function withoutSystem(messages: ChatMessage[]): ChatMessage[] {
  const rules = messages.filter((message) => message.role === "system").map((message) => message.content ?? "");
  if (rules.length === 0) return messages;
  const others = messages.filter((message) => message.role !== "system");
  const first = others.findIndex((message) => message.role === "user");
  if (first === -1) return [{ role: "user", content: rules.join("\n\n") }, ...others];
  return others.map((message, index) =>
    index === first ? { ...message, content: [...rules, message.content ?? ""].join("\n\n") } : message,
  );
}

function templateMessage(message: ChatMessage, traits: TemplateTraits): TemplateMessage {
  const { role, content, tool_calls: calls, reasoning_content: thoughts, ...rest } = message;
  const given = Object.entries(rest).filter(([, value]) => value !== undefined && value !== null);
  const result: TemplateMessage = { ...Object.fromEntries(given), role, content };
  if (thoughts && traits.thoughtsAs !== null) {
    result[traits.thoughtsAs] = thoughts;
    // Harmony has one place for what stands before a call: its templates refuse content and thoughts side by side.
    if (traits.thoughtsAs === "thinking" && calls?.length) result.content = null;
  }
  if (calls !== undefined && calls.length > 0) {
    result.tool_calls = calls.map((call) => ({
      ...call,
      function: { ...call.function, arguments: callArguments(call.function.arguments, traits) },
    }));
  }
  return result;
}

/** Text that is not a JSON object stays text: models do write such, and clients send it back. */
function callArguments(text: string, traits: TemplateTraits): unknown {
  if (traits.argumentsAs === "text") return text;
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject && isShallow(value, DEEPEST) ? value : text;
  } catch {
    return text;
  }
}

function isShallow(value: unknown, depth: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  return depth > 0 && Object.values(value).every((item) => isShallow(item, depth - 1));
}
