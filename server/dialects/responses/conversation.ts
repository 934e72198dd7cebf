import type { ChatMessage } from "../../../engine/protocol/prompt.ts";
import { ApiError, invalidRequest } from "../../../openapi/api-error.ts";
import type { GivenItem, Item } from "../../../openapi/responses/item.ts";
import { compacted } from "./compaction.ts";
import { customArguments } from "./output/custom-input.ts";

type AnyItem = GivenItem | Item;
type Of<Type extends Item["type"]> = Extract<GivenItem, { type: Type }>;
type ToolCalls = NonNullable<ChatMessage["tool_calls"]>;

/** The parts of one assistant message: chat templates expect one message for each of the assistant's turns. */
interface AssistantParts {
  reasoning: string[];
  content: string[];
  calls: ToolCalls;
}

/**
 * The messages of items. Neighbouring items of the assistant become one message; the outputs of its calls follow as `tool`
 * messages in the order of the calls. A compaction and the user's messages beside it become one message.
 *
 * @param open the text of a sealed one; null for one that this server did not seal
 */
export function messagesOf(items: readonly AnyItem[], open: (sealed: string) => string | null): ChatMessage[] {
  const conversation = new Conversation(open);
  for (const item of paired(compacted(items))) conversation.add(item);
  return conversation.end();
}

class Conversation {
  readonly #open: (sealed: string) => string | null;
  readonly #messages: ChatMessage[] = [];
  #assistant: AssistantParts = emptyParts();
  /** The ids of the last message's calls, and the outputs of them that came. */
  #callIds: string[] = [];
  #outputs: ChatMessage[] = [];
  /** The message of the last compaction. */
  #summary: ChatMessage | null = null;

  constructor(open: (sealed: string) => string | null) {
    this.#open = open;
  }

  add(item: AnyItem): void {
    switch (item.type) {
      case "message":
        this.#message(item.role, textOf(item.content));
        break;
      case "function_call":
        this.#call(item, item.arguments);
        break;
      case "custom_tool_call":
        this.#call(item, customArguments(item.input));
        break;
      case "reasoning":
        this.#closeOutputs();
        this.#assistant.reasoning.push(this.#thoughts(item));
        break;
      case "compaction":
        this.#summarize(item);
        break;
      default:
        this.#closeAssistant();
        this.#outputs.push({ role: "tool", content: textOf(item.output), tool_call_id: item.call_id });
    }
  }

  end(): ChatMessage[] {
    this.#close();
    return this.#messages;
  }

  #message(role: Of<"message">["role"], text: string): void {
    if (role === "assistant") {
      this.#closeOutputs();
      this.#assistant.content.push(text);
      return;
    }
    this.#close();
    const last = this.#messages.at(-1);
    if (role === "user" && last !== undefined && last === this.#summary) last.content = `${last.content}\n\n${text}`;
    else this.#messages.push({ role, content: text });
  }

  /** Templates may refuse messages of a user one after the other, and a conversation that another role begins. */
  #summarize({ encrypted_content: sealed }: Of<"compaction">): void {
    const summary = this.#open(sealed);
    if (summary === null) {
      const message = "Invalid 'input': a compaction in it was not made by this server for your key's owner.";
      throw invalidRequest("invalid_value", "input", message);
    }
    this.#close();
    const earlier: string[] = [];
    while (this.#messages.at(-1)?.role === "user") earlier.unshift(this.#messages.pop()?.content ?? "");
    const content = [...earlier, `Summary of the conversation so far:\n${summary}`].join("\n\n");
    this.#summary = { role: "user", content };
    this.#messages.push(this.#summary);
  }

  #call({ call_id: id, name }: { call_id: string; name: string }, args: string): void {
    this.#closeOutputs();
    this.#assistant.calls.push({ id, type: "function", function: { name, arguments: args } });
  }

  #thoughts({ encrypted_content: sealed, content, summary }: Of<"reasoning">): string {
    const opened = sealed === undefined ? null : this.#open(sealed);
    return opened ?? (content?.length ? content : summary).map(({ text }) => text).join("\n");
  }

  #close(): void {
    this.#closeAssistant();
    this.#closeOutputs();
  }

  #closeAssistant(): void {
    const { reasoning, content, calls } = this.#assistant;
    this.#assistant = emptyParts();
    // Reasoning without an answer is left out: templates would render an empty answer after it.
    if (content.length === 0 && calls.length === 0) return;
    const thoughts = reasoning.filter((text) => text !== "").join("\n");
    this.#messages.push({
      role: "assistant",
      content: content.length === 0 ? null : content.join("\n"),
      ...(thoughts !== "" && { reasoning_content: thoughts }),
      ...(calls.length > 0 && { tool_calls: calls }),
    });
    this.#callIds = calls.map(({ id }) => id);
  }

  /** Templates without ids tell outputs by their order. */
  #closeOutputs(): void {
    const place = ({ tool_call_id: id = "" }: ChatMessage) => this.#callIds.indexOf(id);
    this.#messages.push(...this.#outputs.sort((a, b) => place(a) - place(b)));
    this.#outputs = [];
  }
}

function emptyParts(): AssistantParts {
  return { reasoning: [], content: [], calls: [] };
}

/** Parts are joined by a line break, as in chats. */
function textOf(content: string | readonly { text?: string; refusal?: string }[]): string {
  if (typeof content === "string") return content;
  return content.map(({ text, refusal }) => text ?? refusal ?? "").join("\n");
}

/**
 * The items without calls that a bound cut short and that nobody answered. Throws the ApiError of an output without a call
 * before it, and of a call without an output.
 */
function paired(items: readonly AnyItem[]): AnyItem[] {
  const answered = new Set(items.flatMap((item) => (isOutput(item) ? [item.call_id] : [])));
  const called = new Set<string>();
  return items.filter((item) => {
    if (isOutput(item) && !called.has(item.call_id)) {
      const message = `No tool call found for function call output with call_id ${item.call_id}.`;
      throw new ApiError("unpaired_tool_call", message, { param: "input" });
    }
    if (item.type !== "function_call" && item.type !== "custom_tool_call") return true;
    called.add(item.call_id);
    if (answered.has(item.call_id)) return true;
    if (item.status === "incomplete") return false;
    const message = `No tool output found for function call ${item.call_id}.`;
    throw new ApiError("unpaired_tool_call", message, { param: "input" });
  });
}

function isOutput(
  item: AnyItem,
): item is Extract<AnyItem, { type: "function_call_output" | "custom_tool_call_output" }> {
  return item.type === "function_call_output" || item.type === "custom_tool_call_output";
}
