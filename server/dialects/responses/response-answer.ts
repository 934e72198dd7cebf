import type { ResponsesRequest } from "../../../openapi/responses/request.ts";
import type { ResponseObject } from "../../../openapi/responses/response.ts";
import type { WholeChoice } from "../../generation/output/body-sink.ts";
import type { AnswerEnd } from "../../generation/output/sink.ts";
import type { AnswerIdentity, StreamFormat } from "../../generation/output/stream-format.ts";
import { CompactionEvents, compactionResponse } from "./output/compaction-events.ts";
import { type OutputForm, outputItems } from "./output/output-items.ts";
import { ResponseEvents } from "./output/response-events.ts";
import { begunResponse, endedResponse } from "./output/response-object.ts";
import type { ToolSet } from "./tool-set.ts";

export interface AnswerParts {
  body: ResponsesRequest;
  tools: ToolSet;
  form: OutputForm;
  /** True where the response can be read later. */
  stored: boolean;
  /** Seals the summary of a response that is a compaction; null for any other. */
  compact: ((text: string) => string) | null;
}

/** The answer of one request, which is stored as it was sent. */
export class ResponseAnswer {
  readonly #parts: AnswerParts;
  #events: ResponseEvents | null = null;
  #whole: ResponseObject | null = null;

  constructor(parts: AnswerParts) {
    this.#parts = parts;
  }

  events(identity: AnswerIdentity): StreamFormat {
    const { compact } = this.#parts;
    if (compact !== null) return new CompactionEvents(this.#begun(identity), compact);
    this.#events = new ResponseEvents(this.#begun(identity), this.#parts.form);
    return this.#events;
  }

  /** The response of a complete answer, whole or streamed. */
  whole(identity: AnswerIdentity, choice: WholeChoice, end: AnswerEnd): ResponseObject {
    if (this.#events !== null) return this.#events.ended(end);
    const { compact } = this.#parts;
    if (compact !== null) return compactionResponse(this.#begun(identity), choice, compact, end);
    this.#whole ??= endedResponse(
      this.#begun(identity),
      outputItems(identity.id, choice, this.#parts.form),
      choice.finish.reason,
      end,
    );
    return this.#whole;
  }

  #begun(identity: AnswerIdentity): ResponseObject {
    const { body, tools, stored } = this.#parts;
    return begunResponse(body, tools, stored, identity);
  }
}
