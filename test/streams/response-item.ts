import type { ResponseStreamEvent } from "../../openapi/responses/events.ts";
import { ITEM_PREFIXES, type OutputItem } from "../../openapi/responses/item.ts";
import { rule, same } from "./rule.ts";

/** An item that is written in pieces. */
export type WrittenItem = Exclude<OutputItem, { type: "compaction" }>;

/** The events within an item. */
export type ItemEvent = Extract<ResponseStreamEvent, { item_id: string }>;
type PartEvent = Extract<ItemEvent, { content_index: number } | { summary_index: number }>;

/** For each type of item: its parts, and the events that say the text of each of them or, without parts, its own. */
const TEXTS: Readonly<Record<string, { item: WrittenItem["type"]; part: string | null }>> = {
  "response.output_text": { item: "message", part: "output_text" },
  "response.reasoning_text": { item: "reasoning", part: "reasoning_text" },
  "response.reasoning_summary_text": { item: "reasoning", part: "summary_text" },
  "response.function_call_arguments": { item: "function_call", part: null },
  "response.custom_tool_call_input": { item: "custom_tool_call", part: null },
};

/** A text that deltas add up to. */
interface Text {
  type: string | null;
  text: string;
  logprobs: unknown[];
  /** Has its last delta, and is repeated as a whole. */
  said: boolean;
  /** Its part is done too. */
  done: boolean;
}

const newText = (type: string | null): Text => ({ type, text: "", logprobs: [], said: false, done: false });

/** Checks the events of one item, from the one that adds it to the one that ends it. */
export class ItemCheck {
  readonly added: WrittenItem;
  readonly #place: number;
  readonly #content: Text[] = [];
  readonly #summary: Text[] = [];
  /** Of an item without parts. */
  readonly #own = newText(null);

  constructor(added: WrittenItem, place: number) {
    this.added = added;
    this.#place = place;
    rule(added.id.startsWith(ITEM_PREFIXES[added.type]), "an item's id begins as those of its type", added.id);
    rule(added.id.length > ITEM_PREFIXES[added.type].length, "an item has an id", added.id);
    same(added, this.#item("in_progress"), "an item is added in progress and empty");
  }

  take(event: ItemEvent): void {
    rule(event.item_id === this.added.id, "an event has the id of the open item", event);
    rule(event.output_index === this.#place, "an event has the index of the open item", event);
    const [, name, step] = /^(.*)\.(added|delta|done)$/.exec(event.type)!;
    if (name!.endsWith("_part")) this.#takePart(event as PartEvent, step!);
    else this.#takeText(event, name!, step!);
  }

  #takeText(event: ItemEvent, name: string, step: string): void {
    const { item, part } = TEXTS[name]!;
    rule(this.added.type === item, "the events of an item fit its type", event);
    const text = part === null ? this.#own : this.#list(event as PartEvent).at(indexOf(event as PartEvent));
    rule(text !== undefined && text.type === part, "a text belongs to a part that was added", event);
    rule(!text.said, "nothing follows a text that is done", event);
    const { delta, logprobs = [], text: said, arguments: args, input } = event as Record<string, unknown> & ItemEvent;
    if (step === "delta") {
      rule(delta !== "" || (logprobs as unknown[]).length > 0, "a delta adds something", event);
      text.text += delta as string;
      text.logprobs.push(...(logprobs as unknown[]));
    } else {
      text.said = true;
      rule((said ?? args ?? input) === text.text, "deltas add up to the text that is done", { event, text });
      same(logprobs, text.logprobs, "the log probabilities of deltas add up to those that are done");
      if ("name" in event) rule(event.name === Object(this.added).name, "a call that is done has its name", event);
    }
  }

  done(item: WrittenItem): void {
    const parts = [...this.#content, ...this.#summary];
    rule(
      parts.every(({ done }) => done),
      "every part of an item is done before the item",
      item,
    );
    rule(this.#isCall === this.#own.said, "a call's text is done before the call", item);
    this.#compare(item);
  }

  /** Compares an item with what came so far. */
  cut(item: WrittenItem): void {
    rule(item.status === "incomplete", "an item that was cut off is incomplete", item);
    this.#compare(item);
  }

  get #isCall(): boolean {
    return this.added.type === "function_call" || this.added.type === "custom_tool_call";
  }

  #compare(item: WrittenItem): void {
    const sealed = "encrypted_content" in item && { encrypted_content: item.encrypted_content };
    same(item, { ...this.#item(item.status), ...sealed }, "an item is what its events said");
  }

  #list(event: PartEvent): Text[] {
    return "content_index" in event ? this.#content : this.#summary;
  }

  #takePart(event: PartEvent, step: string): void {
    const list = this.#list(event);
    const index = indexOf(event);
    const { part } = event as PartEvent & { part: { type: string } };
    if (step === "added") {
      const types = Object.values(TEXTS).filter(({ item }) => item === this.added.type);
      rule(
        types.some(({ part: type }) => type === part.type),
        "a part fits its item",
        event,
      );
      rule(index === list.length, "the index of a part is the number of parts before it", event);
      rule(list.at(-1)?.done !== false, "a part is done before the next one is added", event);
      list.push(newText(part.type));
      same(part, partOf(list[index]!), "a part is added empty");
      return;
    }
    const text = list[index];
    rule(text?.said === true && !text.done, "a part is done once, after its text", event);
    text.done = true;
    same(part, partOf(text), "a part that is done is what its events said");
  }

  #item(status: WrittenItem["status"]): WrittenItem {
    const { added } = this;
    switch (added.type) {
      case "message":
        return { ...added, status, content: this.#content.map(partOf) } as WrittenItem;
      case "reasoning":
        return {
          ...added,
          status,
          content: this.#content.map(partOf),
          summary: this.#summary.map(partOf),
        } as WrittenItem;
      case "function_call":
        return { ...added, status, arguments: this.#own.text };
      case "custom_tool_call":
        return { ...added, status, input: this.#own.text };
    }
  }
}

function indexOf(event: PartEvent): number {
  return "content_index" in event ? event.content_index : event.summary_index;
}

function partOf({ type, text, logprobs }: Text) {
  return type === "output_text" ? { type, text, annotations: [], logprobs } : { type, text };
}
