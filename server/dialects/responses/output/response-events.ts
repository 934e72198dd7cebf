import type { SequenceFinish, ToolCallDelta } from "../../../../engine/protocol/output.ts";
import type { ApiError } from "../../../../openapi/api-error.ts";
import type { ItemStatus, OutputItem } from "../../../../openapi/responses/item.ts";
import type { ResponseObject } from "../../../../openapi/responses/response.ts";
import type { AnswerEnd } from "../../../generation/output/sink.ts";
import { EVENT_STREAM, type StreamFormat, type TextDelta } from "../../../generation/output/stream-format.ts";
import { EventWriter } from "./event-writer.ts";
import { OpenCall, type OpenItem, OpenMessage, OpenReasoning } from "./open-items.ts";
import { callItem, compactionItem, itemId, messageItem, type OutputForm, reasoningItem } from "./output-items.ts";
import { endedResponse, failedResponse } from "./response-object.ts";

/** The events of one response. An item ends before the next one begins. */
export class ResponseEvents implements StreamFormat {
  readonly type = EVENT_STREAM;
  readonly #begun: ResponseObject;
  readonly #form: OutputForm;
  readonly #events: EventWriter;
  readonly #output: OutputItem[] = [];
  #open: OpenItem | null = null;
  #reason: SequenceFinish["reason"] = "stop";

  constructor(begun: ResponseObject, form: OutputForm, events = new EventWriter()) {
    this.#begun = begun;
    this.#form = form;
    this.#events = events;
  }

  first(): string {
    return this.#events.event("response.created", { response: this.#begun }) + this.begin();
  }

  /** The first event after that of the creation. Clients drop output that they have of an earlier one. */
  begin(): string {
    const begun = this.#events.event("response.in_progress", { response: this.#begun });
    const { compaction } = this.#form;
    if (compaction === null) return begun;
    const item = compactionItem(this.#begun.id, 0, compaction);
    this.#output.push(item);
    return begun + itemEvents(this.#events, item, 0);
  }

  delta(_choice: number, { text, reasoning, toolCalls = [], logprobs = [] }: TextDelta): string {
    let events = reasoning === "" ? "" : this.#think(reasoning);
    if (text !== "" || logprobs.length > 0) events += this.#say(text, logprobs);
    for (const call of toolCalls) events += this.#call(call);
    return events;
  }

  last(_choice: number, { reason }: SequenceFinish): string {
    this.#reason = reason;
    return this.close(reason === "length");
  }

  /** Ends the last item; `cut` is true where a bound cut it short. */
  close(cut: boolean): string {
    const events = this.#needsMessage(cut) ? this.#say("", []) : "";
    return events + this.#close(cut ? "incomplete" : "completed");
  }

  end(end: AnswerEnd): string {
    return lastEvent(this.#events, this.ended(end));
  }

  failed(error: ApiError): string {
    const output = this.#open === null ? this.#output : [...this.#output, this.#open.snapshot("incomplete")];
    return failureEvents(this.#events, error.body.error, failedResponse(this.#begun, output, error));
  }

  /** The response after its last item. */
  ended(end: AnswerEnd): ResponseObject {
    return endedResponse(this.#begun, this.#output, this.#reason, end);
  }

  /** An answer ends with a message or a call, unless a bound cut its reasoning short. */
  #needsMessage(cut: boolean): boolean {
    if (this.#open === null) return this.#output.length === (this.#form.compaction === null ? 0 : 1);
    return this.#open instanceof OpenReasoning && !cut;
  }

  #think(text: string): string {
    if (this.#open instanceof OpenReasoning) return this.#open.think(text);
    const closed = this.#close("completed");
    const id = this.#id("reasoning");
    const added = this.#added({
      ...reasoningItem(id, "", "in_progress", { ...this.#form, seal: null }),
      ...EMPTY_PARTS,
    });
    const open = new OpenReasoning(this.#events, this.#place(id), this.#form);
    this.#open = open;
    return closed + added + open.begin() + open.think(text);
  }

  #say(text: string, logprobs: NonNullable<TextDelta["logprobs"]>): string {
    if (this.#open instanceof OpenMessage) return this.#open.say(text, logprobs);
    const closed = this.#close("completed");
    const id = this.#id("message");
    const added = this.#added({ ...messageItem(id, "", [], "in_progress"), content: [] });
    const open = new OpenMessage(this.#events, this.#place(id));
    this.#open = open;
    const said = closed + added + open.begin();
    // The message of an empty answer has no delta.
    return text === "" && logprobs.length === 0 ? said : said + open.say(text, logprobs);
  }

  #call(call: ToolCallDelta): string {
    if (this.#open instanceof OpenCall && this.#open.index === call.index) return this.#open.write(call.arguments);
    const closed = this.#close("completed");
    const { id: callId = "", name = "" } = call;
    const custom = this.#form.custom.has(name);
    const id = this.#id(custom ? "custom_tool_call" : "function_call");
    const added = this.#added(callItem(id, { id: callId, name, arguments: "" }, "in_progress", custom));
    const open = new OpenCall(this.#events, this.#place(id), call, custom);
    this.#open = open;
    return closed + added + open.write(call.arguments);
  }

  #id(type: OutputItem["type"]): string {
    return itemId(type, this.#begun.id, this.#output.length);
  }

  #place(id: string) {
    return { item_id: id, output_index: this.#output.length };
  }

  #added(item: OutputItem): string {
    return this.#events.event("response.output_item.added", { output_index: this.#output.length, item });
  }

  /** Ends the open item, if there is one. */
  #close(status: ItemStatus): string {
    if (this.#open === null) return "";
    const done = this.#open.done();
    const item = this.#open.snapshot(status);
    const output_index = this.#output.length;
    this.#open = null;
    this.#output.push(item);
    return done + this.#events.event("response.output_item.done", { output_index, item });
  }
}

/** The events of an item that comes whole. */
export function itemEvents(events: EventWriter, item: OutputItem, output_index: number): string {
  const place = { output_index, item };
  return events.event("response.output_item.added", place) + events.event("response.output_item.done", place);
}

/** The last event of a response that has ended. */
export function lastEvent(events: EventWriter, response: ResponseObject): string {
  return events.event(`response.${response.status}`, { response });
}

/** The last events of a response that failed. Clients read the fault at either place. */
export function failureEvents(events: EventWriter, fault: ApiError["body"]["error"], response: ResponseObject): string {
  const { code, message, param } = fault;
  return events.event("error", { code, message, param, error: fault }) + lastEvent(events, response);
}

/** An item of reasoning begins without its parts, which come with events of their own. */
const EMPTY_PARTS = { content: [], summary: [] };
