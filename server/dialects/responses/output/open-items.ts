import type { RankedLogprob, ToolCallDelta } from "../../../../engine/protocol/output.ts";
import type { ItemStatus, OutputItem } from "../../../../openapi/responses/item.ts";
import { chatLogprobs } from "../../chat-logprobs.ts";
import { CustomInput } from "./custom-input.ts";
import { deltaHead, type EventWriter } from "./event-writer.ts";
import { callItem, messageItem, type OutputForm, reasoningItem } from "./output-items.ts";

/** An item of a stream that is being written. Items are written one after the other. */
export interface OpenItem {
  /** The item as far as it came. */
  snapshot(status: ItemStatus): OutputItem;
  /** The events of the item's end, except for the one of the item itself. */
  done(): string;
}

/** The place of an item, in each of its events. */
interface Place {
  item_id: string;
  output_index: number;
}

const NO_LOGPROBS = `,"logprobs":[]`;

export class OpenMessage implements OpenItem {
  readonly #events: EventWriter;
  readonly #place: Place & { content_index: number };
  readonly #head: string;
  #text = "";
  readonly #logprobs: RankedLogprob[] = [];

  constructor(events: EventWriter, place: Place) {
    this.#events = events;
    this.#place = { ...place, content_index: 0 };
    this.#head = deltaHead("response.output_text.delta", this.#place);
  }

  begin(): string {
    const part = { type: "output_text", text: "", annotations: [], logprobs: [] };
    return this.#events.event("response.content_part.added", { ...this.#place, part });
  }

  say(text: string, logprobs: readonly RankedLogprob[]): string {
    this.#text += text;
    if (logprobs.length === 0) return this.#events.numbered(this.#head, JSON.stringify(text) + NO_LOGPROBS);
    this.#logprobs.push(...logprobs);
    const known = JSON.stringify(chatLogprobs(logprobs).content);
    return this.#events.numbered(this.#head, `${JSON.stringify(text)},"logprobs":${known}`);
  }

  snapshot(status: ItemStatus) {
    return messageItem(this.#place.item_id, this.#text, this.#logprobs, status);
  }

  done(): string {
    const [part] = this.snapshot("completed").content;
    const { text, logprobs } = part!;
    return (
      this.#events.event("response.output_text.done", { ...this.#place, text, logprobs }) +
      this.#events.event("response.content_part.done", { ...this.#place, part })
    );
  }
}

/** Reasoning: its raw text, and the same as the summary where one is wanted. */
export class OpenReasoning implements OpenItem {
  readonly #events: EventWriter;
  readonly #form: OutputForm;
  readonly #raw: Place & { content_index: number };
  readonly #summary: Place & { summary_index: number };
  readonly #rawHead: string;
  readonly #summaryHead: string;
  #text = "";

  constructor(events: EventWriter, place: Place, form: OutputForm) {
    this.#events = events;
    this.#form = form;
    this.#raw = { ...place, content_index: 0 };
    this.#summary = { ...place, summary_index: 0 };
    this.#rawHead = deltaHead("response.reasoning_text.delta", this.#raw);
    this.#summaryHead = deltaHead("response.reasoning_summary_text.delta", this.#summary);
  }

  begin(): string {
    const raw = { ...this.#raw, part: { type: "reasoning_text", text: "" } };
    const added = this.#events.event("response.content_part.added", raw);
    if (!this.#form.summary) return added;
    const summary = { ...this.#summary, part: { type: "summary_text", text: "" } };
    return added + this.#events.event("response.reasoning_summary_part.added", summary);
  }

  think(text: string): string {
    this.#text += text;
    const delta = JSON.stringify(text);
    const raw = this.#events.numbered(this.#rawHead, delta);
    return this.#form.summary ? raw + this.#events.numbered(this.#summaryHead, delta) : raw;
  }

  snapshot(status: ItemStatus) {
    return reasoningItem(this.#raw.item_id, this.#text, status, this.#form);
  }

  done(): string {
    const text = this.#text;
    const raw =
      this.#events.event("response.reasoning_text.done", { ...this.#raw, text }) +
      this.#events.event("response.content_part.done", { ...this.#raw, part: { type: "reasoning_text", text } });
    if (!this.#form.summary) return raw;
    const part = { type: "summary_text", text };
    return (
      raw +
      this.#events.event("response.reasoning_summary_text.done", { ...this.#summary, text }) +
      this.#events.event("response.reasoning_summary_part.done", { ...this.#summary, part })
    );
  }
}

/** A call of a function, or of a custom tool where `input` decodes its arguments. */
export class OpenCall implements OpenItem {
  /** The call's index within the answer. */
  readonly index: number;
  readonly #events: EventWriter;
  readonly #place: Place;
  readonly #call: { id: string; name: string; arguments: string };
  readonly #input: CustomInput | null;
  readonly #head: string;

  constructor(events: EventWriter, place: Place, { index, id = "", name = "" }: ToolCallDelta, custom: boolean) {
    this.index = index;
    this.#events = events;
    this.#place = place;
    this.#call = { id, name, arguments: "" };
    this.#input = custom ? new CustomInput() : null;
    const type = custom ? "response.custom_tool_call_input.delta" : "response.function_call_arguments.delta";
    this.#head = deltaHead(type, place);
  }

  write(args: string): string {
    this.#call.arguments += args;
    const delta = this.#input === null ? args : this.#input.push(args);
    return delta === "" ? "" : this.#events.numbered(this.#head, JSON.stringify(delta));
  }

  snapshot(status: ItemStatus) {
    return callItem(this.#place.item_id, this.#call, status, this.#input !== null);
  }

  done(): string {
    const item = this.snapshot("completed");
    if (item.type === "custom_tool_call") {
      return this.#events.event("response.custom_tool_call_input.done", { ...this.#place, input: item.input });
    }
    const { name, arguments: args } = item;
    return this.#events.event("response.function_call_arguments.done", { ...this.#place, name, arguments: args });
  }
}
