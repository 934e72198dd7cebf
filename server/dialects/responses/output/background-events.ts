import type { ResponseObject } from "../../../../openapi/responses/response.ts";
import type { TextDelta } from "../../../generation/output/stream-format.ts";
import { EventWriter } from "./event-writer.ts";
import type { OutputForm } from "./output-items.ts";
import { failureEvents, lastEvent, ResponseEvents } from "./response-events.ts";

/**
 * The events of a background response, written from what is stored of it: equal ones each time. A run that begins again has
 * an event of its beginning, after which the output starts over.
 */
export class BackgroundEvents {
  readonly #begun: ResponseObject;
  readonly #form: OutputForm;
  readonly #after: number;
  #events: EventWriter;
  #run: ResponseEvents | null = null;

  /**
   * @param response in any status
   * @param seal seals the reasoning; null where no sealed text is wanted
   * @param after the number of the last event that is left out; -1 for none
   */
  constructor(response: ResponseObject, seal: OutputForm["seal"], after: number) {
    const { tools } = response;
    this.#begun = { ...response, ...NOT_ENDED };
    const custom = new Set(tools.flatMap(({ type, name }) => (type === "custom" ? [name] : [])));
    this.#form = { custom, summary: response.reasoning.summary !== null, compaction: null, seal };
    this.#after = after;
    this.#events = new EventWriter(0, after);
  }

  /** The events before the first run. */
  created(): string {
    const response = { ...this.#begun, status: "queued" };
    return this.#events.event("response.created", { response }) + this.#events.event("response.queued", { response });
  }

  /** A run begins with the event of this number. */
  begin(number: number): string {
    this.#events = new EventWriter(number, this.#after);
    this.#run = new ResponseEvents(this.#begun, this.#form, this.#events);
    return this.#run.begin();
  }

  /** The events of outputs, in pieces. */
  *said(outputs: readonly TextDelta[]): Generator<string> {
    let piece = "";
    for (const output of outputs) {
      piece += this.#run?.delta(0, output) ?? "";
      if (piece.length < PIECE) continue;
      yield piece;
      piece = "";
    }
    yield piece;
  }

  /** The last events; none of a cancelled response, whose stream just ends. */
  end(response: ResponseObject): string {
    const { status, error } = response;
    switch (status) {
      case "completed":
      case "incomplete":
        return (this.#run?.close(status === "incomplete") ?? "") + lastEvent(this.#events, response);
      case "failed": {
        const { code, message } = error ?? { code: "server_error", message: "" };
        const type = code === "server_error" ? "server_error" : "invalid_request_error";
        return failureEvents(this.#events, { message, type, param: null, code }, response);
      }
      default:
        return "";
    }
  }
}

/** Characters of events that are written at once. */
const PIECE = 16_384;

const NOT_ENDED = {
  status: "in_progress",
  completed_at: null,
  error: null,
  incomplete_details: null,
  output: [],
  usage: null,
} as const satisfies Partial<ResponseObject>;
