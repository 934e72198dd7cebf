import { type IdPrefix, objectId } from "../../platform/object-id.ts";
import type { NewItem } from "../../store/types/answer-rows.ts";

/** An item of a response or a conversation, as JSON. */
export interface KeptItem {
  id?: string | null | undefined;
  type?: string | null | undefined;
  [field: string]: unknown;
}

const PREFIXES: Readonly<Record<string, IdPrefix>> = {
  message: "msg_",
  reasoning: "rs_",
  function_call: "fc_",
  function_call_output: "fco_",
  custom_tool_call: "ctc_",
  custom_tool_call_output: "ctco_",
  compaction: "cmp_",
};

/**
 * The item as it is stored and answered: with an id, and a message with its type, its status and a list of parts. Clients
 * may leave those out.
 */
export function storedItem(item: KeptItem): KeptItem & { id: string } {
  const type = item.type ?? "message";
  const id = item.id ?? objectId(PREFIXES[type] ?? "item_");
  if (type !== "message") return { ...item, id };
  const { content, role } = item;
  const part = { type: role === "assistant" ? "output_text" : "input_text", text: content };
  const annotated = role === "assistant" ? { ...part, annotations: [], logprobs: [] } : part;
  return {
    ...item,
    id,
    type,
    status: item.status ?? "completed",
    content: typeof content === "string" ? [annotated] : content,
  };
}

export function itemRow(item: KeptItem): NewItem {
  const stored = storedItem(item);
  return { id: stored.id, item: JSON.stringify(stored) };
}
