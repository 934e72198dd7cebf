import type { RankedLogprob } from "../../../../engine/protocol/output.ts";
import { ITEM_PREFIXES, type ItemStatus, type OutputItem } from "../../../../openapi/responses/item.ts";
import type { WholeChoice, WholeToolCall } from "../../../generation/output/body-sink.ts";
import { chatLogprobs } from "../../chat-logprobs.ts";
import { customInput } from "./custom-input.ts";

type Output<Type extends OutputItem["type"]> = Extract<OutputItem, { type: Type }>;

/** The form in which a request wants its output. */
export interface OutputForm {
  /** The names of custom tools. */
  custom: ReadonlySet<string>;
  /** True where the reasoning is also the summary. */
  summary: boolean;
  /** The sealed summary that the output begins with; null for none. */
  compaction: string | null;
  /** Seals the reasoning; null where no sealed text is wanted. */
  seal: ((text: string) => string) | null;
}

/** The id of an item: its type, the id of its response and its place, so that all writers of an answer name it equally. */
export function itemId(type: keyof typeof ITEM_PREFIXES, responseId: string, place: number | string): string {
  return `${ITEM_PREFIXES[type]}${responseId.slice(responseId.indexOf("_") + 1)}_${place}`;
}

export function messageItem(
  id: string,
  text: string,
  logprobs: readonly RankedLogprob[],
  status: ItemStatus,
): Output<"message"> {
  const { content } = chatLogprobs(logprobs);
  return {
    id,
    type: "message",
    role: "assistant",
    status,
    content: [{ type: "output_text", text, annotations: [], logprobs: content }],
  };
}

export function reasoningItem(
  id: string,
  text: string,
  status: ItemStatus,
  { summary, seal }: OutputForm,
): Output<"reasoning"> {
  return {
    id,
    type: "reasoning",
    summary: summary ? [{ type: "summary_text", text }] : [],
    content: [{ type: "reasoning_text", text }],
    ...(seal !== null && { encrypted_content: seal(text) }),
    status,
  };
}

export function callItem(
  id: string,
  { id: call_id, name, arguments: args }: WholeToolCall,
  status: ItemStatus,
  custom: boolean,
): Output<"function_call"> | Output<"custom_tool_call"> {
  if (custom) return { id, type: "custom_tool_call", call_id, name, input: customInput(args), status };
  return { id, type: "function_call", call_id, name, arguments: args, status };
}

/** The summary that a model wrote, also in its reasoning alone. */
export function summaryText({ text, reasoning }: { text: string; reasoning: string }): string {
  return text.trim() === "" ? reasoning.trim() : text.trim();
}

export function compactionItem(responseId: string, place: number, sealed: string): Output<"compaction"> {
  return { id: itemId("compaction", responseId, place), type: "compaction", encrypted_content: sealed };
}

/** The items of a whole answer: reasoning, message, calls. The last item of an answer that was cut short is incomplete. */
export function outputItems(responseId: string, choice: WholeChoice, form: OutputForm): OutputItem[] {
  const { text, reasoning, calls, finish, logprobs } = choice;
  const cut = finish.reason === "length";
  const message = text !== "" || (calls.length === 0 && (!cut || reasoning === ""));
  const items: OutputItem[] = form.compaction === null ? [] : [compactionItem(responseId, 0, form.compaction)];
  const last = items.length + (reasoning === "" ? 0 : 1) + (message ? 1 : 0) + calls.length - 1;
  const status = () => (cut && items.length === last ? "incomplete" : "completed");
  const id = (type: OutputItem["type"]) => itemId(type, responseId, items.length);
  if (reasoning !== "") items.push(reasoningItem(id("reasoning"), reasoning, status(), form));
  if (message) items.push(messageItem(id("message"), text, logprobs ?? [], status()));
  for (const call of calls) {
    const custom = form.custom.has(call.name);
    items.push(callItem(id(custom ? "custom_tool_call" : "function_call"), call, status(), custom));
  }
  return items;
}
