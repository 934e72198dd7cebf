import { createHash } from "node:crypto";
import type { ChatMessage, FunctionTool } from "../../../protocol/prompt.ts";
import { RequestRefusal } from "../../../protocol/request-refusal.ts";
import type { TemplateTraits } from "./template-traits.ts";
import { thoughtParts } from "./thought-parts.ts";
import { toolInstructions, withCallsAsText, withInstructions } from "./tool-prompt.ts";

/** The depth that the server allows in a request's JSON; it does not see into arguments, which are JSON in a string. */
const DEEPEST = 64;
/**
 * Values in the arguments of all calls together, which the server does not count either. The template's interpreter makes an
 * object with all its methods for each: five million took 15 s and 1 GB.
 */
const MOST_VALUES = 131_072;
/** The id of calls in the deprecated `function_call` and `function` messages, which have none. */
const LEGACY_CALL_ID = "call_0";

export type TemplateMessage = Record<string, unknown> & { role: string };

/**
 * Messages in the form that a template of these traits accepts:
 * - `developer` becomes `system` where the template has no such role, and `function` becomes `tool`;
 * - where it does not render calls, or tools that are offered, these become text (tool-prompt.ts); `example` is a call in
 *   the form in which it renders calls;
 * - where it takes system messages at the beginning alone, later ones become user messages;
 * - where the template has no system role, these messages' text goes before the first user message's;
 * - where it accepts one call a message, each call has its own message, with its result;
 * - fields without a value are left out, since templates ask `'tool_calls' in message`;
 * - reasoning of earlier answers is in the field that the template reads, or left out;
 * - where it takes results beside their calls, they are there, with the text that the model wrote after them;
 * - a tool call's arguments are parsed where the template expects an object, and its id is shortened where required;
 * - a result has the name of its tool.
 */
export function templateMessages(
  messages: ChatMessage[],
  traits: TemplateTraits,
  tools: readonly FunctionTool[] = [],
  example?: string,
): TemplateMessage[] {
  checkArguments(messages, traits);
  let shaped = withNames(messages.map((message) => withKnownRole(message, traits)));
  if (!traits.laterSystem) shaped = withoutLaterSystem(shaped);
  const instructed = tools.length > 0 && !traits.tools;
  // Calls in the history have the form that the instructions ask for.
  if (!traits.calls || (instructed && example === undefined)) shaped = withCallsAsText(shaped);
  else if (!traits.parallelCalls) shaped = withSingleCalls(shaped);
  if (instructed) shaped = withInstructions(shaped, toolInstructions(tools, example));
  const formed = (traits.system ? shaped : withoutSystem(shaped)).map((message) => templateMessage(message, traits));
  return traits.toolResponses ? withToolResponses(formed) : formed;
}

/** @throws RequestRefusal for too many values for a template that expects objects */
function checkArguments(messages: readonly ChatMessage[], { argumentsAs }: TemplateTraits): void {
  if (argumentsAs === "text") return;
  let left = MOST_VALUES;
  for (const { tool_calls: calls = [] } of messages) {
    for (const call of calls) left -= valuesIn(call.function.arguments);
  }
  if (left >= 0) return;
  const message = `Invalid 'messages': the arguments of their tool calls hold more than ${MOST_VALUES} values together.`;
  throw new RequestRefusal({ code: "invalid_value", param: "messages", message });
}

/** The values of a JSON text, by the characters that open a container or precede another value. */
function valuesIn(json: string): number {
  let count = 0;
  let inString = false;
  for (let i = 0; i < json.length; i++) {
    const character = json[i];
    if (character === '"') inString = !inString;
    else if (inString && character === "\\") i++;
    else if (!inString && (character === "[" || character === "{" || character === ",")) count++;
  }
  return count;
}

function withKnownRole(message: ChatMessage, traits: TemplateTraits): ChatMessage {
  if (message.role === "developer" && !traits.developer) return { ...message, role: "system" };
  return message.role === "function" ? { ...message, role: "tool", tool_call_id: LEGACY_CALL_ID } : message;
}

function withNames(messages: ChatMessage[]): ChatMessage[] {
  const names = new Map<string, string>();
  return messages.map((message) => {
    for (const call of message.tool_calls ?? []) names.set(call.id, call.function.name);
    if (message.role !== "tool" || message.name !== undefined) return message;
    const name = names.get(message.tool_call_id ?? "");
    return name === undefined ? message : { ...message, name };
  });
}

/** Results follow their calls; a result without a call stays where it is. */
function withSingleCalls(messages: ChatMessage[]): ChatMessage[] {
  const result: ChatMessage[] = [];
  const moved = new Set<ChatMessage>();
  messages.forEach((message, index) => {
    const calls = message.tool_calls ?? [];
    if (calls.length < 2) {
      if (!moved.has(message)) result.push(message);
      return;
    }
    const end = messages.findIndex((later, at) => at > index && later.role !== "tool");
    const answers = messages.slice(index + 1, end === -1 ? undefined : end);
    calls.forEach((call, at) => {
      const first = at === 0 ? message : { ...message, content: null, reasoning_content: "" };
      result.push({ ...first, tool_calls: [call] });
      const answer = answers.find((one) => one.tool_call_id === call.id && !moved.has(one));
      if (answer === undefined) return;
      moved.add(answer);
      result.push(answer);
    });
  });
  return result;
}

/** Results that are JSON are passed as values. */
function withToolResponses(messages: readonly TemplateMessage[]): TemplateMessage[] {
  const result: TemplateMessage[] = [];
  for (const message of messages) {
    const last = result.at(-1);
    const responses: unknown[] | null = Array.isArray(last?.tool_responses) ? last.tool_responses : null;
    if (message.role === "tool" && responses !== null) {
      responses.push({ name: message.name, response: jsonOrText(message.content) });
    } else if (message.role === "assistant" && responses?.length && !last?.content && !message.tool_calls) {
      last!.content = message.content;
    } else result.push(message.tool_calls ? { ...message, tool_responses: [] } : message);
  }
  return result;
}

function jsonOrText(content: unknown): unknown {
  if (typeof content !== "string") return content;
  try {
    const value: unknown = JSON.parse(content);
    return isShallow(value, DEEPEST) ? value : content;
  } catch {
    return content;
  }
}

/** Templates that refuse later system messages also refuse neighbours of one role. */
function withoutLaterSystem(messages: ChatMessage[]): ChatMessage[] {
  const begin = messages.findIndex(({ role }) => role !== "system");
  if (begin === -1 || !messages.some(({ role }, index) => index > begin && role === "system")) return messages;
  const result = messages.slice(0, begin);
  let wasRule = false;
  for (const message of messages.slice(begin)) {
    const isRule = message.role === "system";
    const last = result.at(-1);
    if (last?.role === "user" && (isRule || (wasRule && message.role === "user"))) {
      result[result.length - 1] = { ...last, content: [last.content ?? "", message.content ?? ""].join("\n\n") };
    } else result.push(isRule ? { ...message, role: "user" } : message);
    wasRule = isRule;
  }
  return result;
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
  const { role, content, tool_calls: calls, tool_call_id: resultOf, reasoning_content: thoughts, ...rest } = message;
  const given = Object.entries(rest).filter(([, value]) => value !== undefined && value !== null);
  const result: TemplateMessage = { ...Object.fromEntries(given), role, content: content ?? "" };
  if (resultOf !== undefined) result.tool_call_id = callId(resultOf, traits);
  if (calls !== undefined && calls.length > 0) {
    result.content = content ?? traits.noContent;
    result.tool_calls = calls.map((call) => ({
      ...call,
      id: callId(call.id, traits),
      function: { ...call.function, arguments: callArguments(call.function.arguments, traits) },
    }));
  }
  if (thoughts && traits.thoughtsAs === "parts") result.content = thoughtParts(thoughts, content ?? "");
  else if (thoughts && traits.thoughtsAs !== null) {
    result[traits.thoughtsAs] = thoughts;
    // Harmony has one field for the text before a call: its templates refuse content and reasoning side by side.
    if (traits.thoughtsAs === "thinking" && calls?.length) result.content = traits.noContent;
  }
  return result;
}

/** Equal ids stay equal, so that a result matches its call. */
function callId(id: string, traits: TemplateTraits): string {
  if (!traits.shortCallIds || /^[a-zA-Z0-9]{9}$/.test(id)) return id;
  return createHash("sha256").update(id).digest("hex").slice(0, 9);
}

/** Text that is not a JSON object stays text: models do write such arguments, and clients send them back. */
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
