import type { ApiError } from "../../../../openapi/api-error.ts";
import type { ResponseObject } from "../../../../openapi/responses/response.ts";
import type { AnswerEnd } from "../../../generation/output/sink.ts";
import { EVENT_STREAM, type StreamFormat, type TextDelta } from "../../../generation/output/stream-format.ts";
import { EventWriter } from "./event-writer.ts";
import { compactionItem, summaryText } from "./output-items.ts";
import { itemEvents, lastEvent, ResponseEvents } from "./response-events.ts";
import { endedResponse } from "./response-object.ts";

/** The events of a response that is a compaction: its item comes at once, at the end. */
export class CompactionEvents implements StreamFormat {
  readonly type = EVENT_STREAM;
  readonly #begun: ResponseObject;
  readonly #seal: (text: string) => string;
  readonly #events = new EventWriter();
  readonly #said = { text: "", reasoning: "" };

  constructor(begun: ResponseObject, seal: (text: string) => string) {
    this.#begun = begun;
    this.#seal = seal;
  }

  first(): string {
    return this.#empty.first();
  }

  delta(_choice: number, { text, reasoning }: TextDelta): string {
    this.#said.text += text;
    this.#said.reasoning += reasoning;
    return "";
  }

  last(): string {
    return "";
  }

  end(end: AnswerEnd): string {
    const response = compactionResponse(this.#begun, this.#said, this.#seal, end);
    return itemEvents(this.#events, response.output[0]!, 0) + lastEvent(this.#events, response);
  }

  failed(error: ApiError): string {
    return this.#empty.failed(error);
  }

  /** The events of a response without output. */
  get #empty(): ResponseEvents {
    return new ResponseEvents(this.#begun, NO_FORM, this.#events);
  }
}

const NO_FORM = { custom: new Set<string>(), summary: false, compaction: null, seal: null };

/** The response of a whole summary, which is complete also where its bound cut it short. */
export function compactionResponse(
  begun: ResponseObject,
  said: { text: string; reasoning: string },
  seal: (text: string) => string,
  end: AnswerEnd,
): ResponseObject {
  return endedResponse(begun, [compactionItem(begun.id, 0, seal(summaryText(said)))], "stop", end);
}
