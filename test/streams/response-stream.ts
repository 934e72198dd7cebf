import { type ResponseStreamEvent, responseStreamEvent } from "../../openapi/responses/events.ts";
import type { OutputItem } from "../../openapi/responses/item.ts";
import type { ResponseObject } from "../../openapi/responses/response.ts";
import { ItemCheck, type ItemEvent, type WrittenItem } from "./response-item.ts";
import { exact, rule, same } from "./rule.ts";
import type { NamedEvent } from "./sse.ts";

/**
 * Throws the Error of the rule that the events of a response break.
 *
 * @param cut true for a stream whose client left: it may end after any event
 * @returns the response of the last event; null for a stream that was cut before it
 */
export function checkResponseStream(events: readonly NamedEvent[], cut = false): ResponseObject | null {
  const check = new StreamCheck();
  for (const event of events) check.take(event);
  rule(cut || check.ended !== null, "a stream ends with its response", events.at(-1));
  return check.ended;
}

class StreamCheck {
  ended: ResponseObject | null = null;
  #next = 0;
  #begun: ResponseObject | null = null;
  readonly #output: OutputItem[] = [];
  readonly #ids = new Set<string>();
  #open: ItemCheck | null = null;
  #compaction: OutputItem | null = null;
  #fault: ResponseStreamEvent | null = null;

  take({ name, data }: NamedEvent): void {
    const event = exact(responseStreamEvent, JSON.parse(data));
    rule(name === event.type, "an event has the name of its type", name);
    const skips = event.type === "response.in_progress" && this.#begun?.background === true;
    const { sequence_number: number } = event;
    rule(number === this.#next || (skips && number > this.#next), `event ${this.#next} has this number`, number);
    this.#next = number + 1;
    rule(this.ended === null, "nothing follows the last response", event);
    rule(this.#fault === null || event.type === "response.failed", "an error is followed by response.failed", event);
    this.#read(event);
  }

  #read(event: ResponseStreamEvent): void {
    switch (event.type) {
      case "response.created":
        rule(event.sequence_number === 0, "response.created is the first event alone", event);
        this.#begun = event.response;
        this.#checkBegun(event.response);
        return;
      case "response.queued":
        rule(event.sequence_number === 1, "response.queued is the second event alone", event);
        rule(event.response.background, "a response in the background alone is queued", event);
        same(event.response, this.#begun, "response.queued has the response of response.created");
        return;
      case "response.in_progress":
        this.#beginRun(event);
        return;
      case "response.completed":
      case "response.incomplete":
      case "response.failed":
        this.#end(event.type, event.response);
        return;
      case "error":
        this.#fault = event;
        same(
          [event.code, event.message, event.param],
          [event.error.code, event.error.message, event.error.param],
          "an error has its fields twice",
        );
        return;
      case "response.output_item.added":
        this.#add(event);
        return;
      case "response.output_item.done": {
        const { item, output_index } = event;
        if (item.type === "compaction") {
          same(item, this.#compaction, "a compaction is done as it was added");
          this.#compaction = null;
          this.#output.push(item);
          return;
        }
        rule(output_index === this.#output.length, "an item ends at the index at which it was added", event);
        rule(this.#open !== null, "an item that ends was added", event);
        rule(item.status !== "in_progress", "an item that ends is not in progress", item);
        this.#open.done(item);
        this.#open = null;
        this.#output.push(item);
        return;
      }
      default: {
        const within: ItemEvent = event;
        rule(this.#open !== null, "an event within an item comes between its beginning and its end", event);
        this.#open.take(within);
      }
    }
  }

  /** A run in the background may begin more than once, and its output starts over. */
  #beginRun(event: Extract<ResponseStreamEvent, { type: "response.in_progress" }>): void {
    const { response, sequence_number: number } = event;
    const background = this.#begun?.background === true;
    rule(background || number === 1, "response.in_progress is the second event alone", event);
    rule(!background || number > 1, "response.in_progress of the background follows response.queued", event);
    const begun = { ...this.#begun, status: "in_progress" };
    same(response, begun, "response.in_progress has the response of response.created");
    this.#open = null;
    this.#output.length = 0;
    this.#ids.clear();
  }

  #add({ item, output_index }: Extract<ResponseStreamEvent, { type: "response.output_item.added" }>): void {
    rule(this.#next > 2, "response.created and response.in_progress precede the items");
    rule(this.#open === null, "an item is done before the next one is added", item);
    rule(output_index === this.#output.length, "the index of an item is the number of items before it", output_index);
    rule(statusOf(this.#output.at(-1)) !== "incomplete", "no item follows one that is incomplete", item);
    if (item.type === "compaction") this.#compaction = item;
    else this.#open = new ItemCheck(item, output_index);
    for (const id of "call_id" in item ? [item.id, item.call_id] : [item.id]) {
      rule(id !== "" && !this.#ids.has(id), "every id is of one item or call alone", item);
      this.#ids.add(id);
    }
  }

  #checkBegun(response: ResponseObject): void {
    const { status, output, usage, error, incomplete_details, completed_at, background } = response;
    same(
      { status, output, usage, error, incomplete_details, completed_at },
      {
        status: background ? "queued" : "in_progress",
        output: [],
        usage: null,
        error: null,
        incomplete_details: null,
        completed_at: null,
      },
      "a response begins queued or in progress, with nothing else",
    );
  }

  #end(type: string, response: ResponseObject): void {
    const { status, output, usage, error, incomplete_details, completed_at } = response;
    rule(type === `response.${status}`, "the last event has the name of the status", response);
    const begun = { ...this.#begun, status, output, usage, error, incomplete_details, completed_at };
    same(response, begun, "a response keeps the fields with which it began");
    rule((this.#fault !== null) === (status === "failed"), "a failed response follows its error", response);
    rule((error !== null) === (status === "failed"), "a failed response alone has an error", response);
    rule((incomplete_details !== null) === (status === "incomplete"), "an incomplete response says why", response);
    rule((completed_at !== null) === (status === "completed"), "a completed response says when", response);
    rule(completed_at === null || completed_at >= response.created_at, "a response ends after its start", response);
    if (status === "failed") this.#endFailed(output);
    else this.#endWhole(response);
    this.ended = response;
  }

  #endFailed(output: OutputItem[]): void {
    const { length } = this.#output;
    same(output.slice(0, length), this.#output, "a failed response has the items that are done");
    rule(output.length === length + (this.#open === null ? 0 : 1), "a failed response has the open item too", output);
    this.#open?.cut(output.at(-1) as WrittenItem);
  }

  #endWhole({ status, output, usage }: ResponseObject): void {
    rule(this.#open === null && this.#compaction === null, "every item is done before the response");
    same(output, this.#output, "the last event has the items as they were done");
    const statuses = this.#output.map(statusOf);
    const last = status === "incomplete" ? "incomplete" : "completed";
    rule(statuses.length > 0, "a response has an item");
    same(statuses, [...statuses.slice(1).fill("completed"), last], "an item is incomplete only where a bound cut it");
    rule(status === "incomplete" || output.at(-1)?.type !== "reasoning", "an answer ends with a message or a call");
    rule(usage !== null, "a response that ended has its usage");
    const { input_tokens: read, output_tokens: written, total_tokens: total } = usage;
    rule(total === read + written, "the total is the sum of both counts, reasoning included once", usage);
    rule(usage.input_tokens_details.cached_tokens <= read, "cached tokens are part of the input", usage);
    rule(usage.output_tokens_details.reasoning_tokens <= written, "reasoning tokens are part of the output", usage);
  }
}

/** A compaction has no status: it is complete. */
function statusOf(item: OutputItem | undefined): string | undefined {
  return item === undefined || "status" in item ? item?.status : "completed";
}
