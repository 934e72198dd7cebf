import { invalidRequest } from "../../../openapi/api-error.ts";
import type { InputItem } from "../../../openapi/responses/input-item.ts";
import type { GivenItem, Item } from "../../../openapi/responses/item.ts";
import { itemId } from "./output/output-items.ts";

type MessagePart = Extract<Item, { type: "message" }>["content"][number];
type Given<Type extends InputItem["type"]> = Extract<InputItem, { type: Type }>;

/** Stored items of a request: those that go before its input, and those that its references name. */
export interface StoredItems {
  before: readonly Item[];
  referenced: ReadonlyMap<string, Item>;
}

export const NOTHING_STORED: StoredItems = { before: [], referenced: new Map() };

/** The items of an input with ids. One that a reference named has its own. */
export function withIds(items: readonly (Item | GivenItem)[], responseId: string): Item[] {
  return items.map((item, index) => ({ id: itemId(item.type, responseId, `in${index}`), ...item }));
}

/** The items of a valid input in the form in which they are kept; items of hosted tools are left out. */
export function givenItems(
  input: string | readonly InputItem[] | null | undefined,
  { referenced }: Pick<StoredItems, "referenced">,
): (GivenItem | Item)[] {
  if (input == null) return [];
  if (typeof input === "string") return [userMessage(input)];
  return input.flatMap((item) => given(item, referenced) ?? []);
}

function userMessage(text: string): GivenItem {
  return { type: "message", role: "user", status: "completed", content: [{ type: "input_text", text }] };
}

function given(item: InputItem, referenced: ReadonlyMap<string, Item>): GivenItem | Item | null {
  switch (item.type) {
    case "message":
      return message(item);
    case "function_call":
    case "custom_tool_call": {
      const { id: _, status, ...call } = item;
      return { ...call, status: status ?? "completed" };
    }
    case "function_call_output": {
      const { type, call_id, status } = item;
      return { type, call_id, output: output(item.output), status: status ?? "completed" };
    }
    case "custom_tool_call_output":
      return { type: item.type, call_id: item.call_id, output: output(item.output) };
    case "reasoning":
      return reasoning(item);
    case "compaction":
      return { type: item.type, encrypted_content: item.encrypted_content };
    case "item_reference":
      return referencedItem(item.id, referenced);
    default:
      return null;
  }
}

/** The stored item; the store has refused unknown ones. */
function referencedItem(id: string, referenced: ReadonlyMap<string, Item>): Item {
  const item = referenced.get(id);
  if (item === undefined) throw invalidRequest("invalid_value", "input", `Item with id '${id}' not found.`);
  return item;
}

function message({ type, role, content, status, phase }: Given<"message">): GivenItem {
  const parts = typeof content === "string" ? [{ type: "input_text" as const, text: content }] : (content ?? []);
  return {
    type,
    role,
    status: status ?? "completed",
    content: parts.flatMap((part): MessagePart[] => {
      if (part.type === "refusal") return [part];
      if (!("text" in part)) return [];
      const { text } = part;
      // Clients also send `input_text` in the messages of assistants.
      const said = role === "assistant";
      return [said ? { type: "output_text", text, annotations: [], logprobs: [] } : { type: "input_text", text }];
    }),
    ...(phase != null && { phase }),
  };
}

function output(given: Given<"function_call_output">["output"]): string | { type: "input_text"; text: string }[] {
  if (given == null || typeof given === "string") return given ?? "";
  return given.flatMap((part) => ("text" in part ? [{ type: "input_text" as const, text: part.text }] : []));
}

function reasoning({ type, summary, content, encrypted_content, status }: Given<"reasoning">): GivenItem {
  return {
    type,
    summary: summary ?? [],
    ...(content != null && { content }),
    ...(encrypted_content != null && { encrypted_content }),
    status: status ?? "completed",
  };
}
