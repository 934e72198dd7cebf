import type { Executed, LineUsage } from "../../batch/lines/line-execution.ts";
import { ApiError } from "../../openapi/api-error.ts";
import type { ResponseObject } from "../../openapi/responses/response.ts";
import { type Clock, epochSeconds } from "../../platform/clock.ts";
import { failpoint } from "../../platform/failpoint.ts";
import type { NewSaid, ResponseRow } from "../../store/types/answer-rows.ts";
import { BodySink } from "../generation/output/body-sink.ts";
import type { AnswerIdentity } from "../generation/output/stream-format.ts";
import type { GenerationRequest } from "../generation/request.ts";
import { JournalSink } from "./journal-sink.ts";
import { refusedLine } from "./line-outcome.ts";
import { RunJournal, type RunStore } from "./run-journal.ts";

/** A background response as its line starts; `stream` is null for one whose events are not kept. */
export interface BegunResponse {
  row: ResponseRow;
  stream: RunStore | null;
}

/** Where background responses are kept while they run. */
export interface BackgroundStore {
  /** The response that a batch runs: in progress from now on, or ended. Null for a batch that runs none. */
  begin(owner: string, batchId: string): Promise<BegunResponse | null>;
  /**
   * Durable when it resolves, with the last outputs of a stream. A response that was cancelled or removed meanwhile stays so.
   * Throws the ApiError of an answer that cannot be stored.
   */
  answered(owner: string, response: ResponseObject, said: NewSaid | null): Promise<void>;
  failed(id: string, fault: { code: string; message: string }): Promise<void>;
  /** An ended response with its output. */
  whole(owner: string, id: string): Promise<ResponseObject>;
}

const OPEN: readonly ResponseRow["status"][] = ["queued", "in_progress"];

/** The line that runs a background response. The response ends before its line, so that a line without an end runs again. */
export class BackgroundLine {
  readonly #row: ResponseRow;
  readonly #stream: RunStore | null;
  readonly #store: BackgroundStore;
  readonly #clock: Clock;
  /** Null before a streamed response is submitted, and for any other. */
  #journal: RunJournal | null = null;

  constructor({ row, stream }: BegunResponse, store: BackgroundStore, clock: Clock) {
    this.#row = row;
    this.#stream = stream;
    this.#store = store;
    this.#clock = clock;
  }

  /** The id and the time that the answer has. */
  get identity(): { id: string; created: number } {
    return { id: this.#row.id, created: this.#row.createdAt };
  }

  /** The request whose answer is kept as that of the response. */
  kept(request: GenerationRequest): GenerationRequest {
    let response: ResponseObject | null = null;
    const whole: GenerationRequest["whole"] = (...answer) => {
      response ??= this.#response(request.whole(...answer) as ResponseObject);
      return response;
    };
    return {
      ...request,
      whole,
      keep: async ({ identity, choices, end }) => {
        const said = (await this.#journal?.rest()) ?? null;
        await this.#store.answered(this.#row.owner, whole(identity, choices, end) as ResponseObject, said);
        failpoint("response.answered");
      },
    };
  }

  /** The sink of the answer to a request of `kept`. The events of a streamed response are kept as it comes. */
  sink(request: GenerationRequest, identity: AnswerIdentity, firstToken: () => void): BodySink {
    if (this.#stream === null) return new BodySink(1, firstToken);
    this.#journal = new RunJournal(request.chunks(identity, ""), this.#stream);
    return new JournalSink(this.#journal, firstToken);
  }

  /**
   * The result of a line whose response has ended already: the server was killed before it stored that of the line, which is
   * charged now. Null for a response that is to run.
   */
  async ended(version: string): Promise<Executed | null> {
    const { status, owner, id } = this.#row;
    if (OPEN.includes(status)) return null;
    if (status === "failed" || status === "cancelled") {
      const message = `The response of this line is ${status}.`;
      return refusedLine(new ApiError("batch_cancelled", message), "/v1/responses", version);
    }
    const response = await this.#store.whole(owner, id);
    return { how: "answered", statusCode: 200, body: JSON.stringify(response), usage: usageOf(response), version };
  }

  /** Ends the response of a line that ended without an answer. Other lines run again, or their batch ends the response. */
  async settle(executed: Executed): Promise<void> {
    await this.#journal?.close();
    const { id } = this.#row;
    if (executed.how === "timed_out") await this.#store.failed(id, { code: "server_error", message: executed.message });
    if (executed.how !== "answered" || executed.statusCode < 400) return;
    const { error }: { error: { code: string | null; message: string } } = JSON.parse(executed.body);
    const code = executed.statusCode >= 500 ? "server_error" : (error.code ?? "server_error");
    await this.#store.failed(id, { code, message: error.message });
  }

  /** The response as it was created, with its end. */
  #response({ status, incomplete_details, output, usage }: ResponseObject): ResponseObject {
    const begun: ResponseObject = JSON.parse(this.#row.object);
    const completed_at = status === "completed" ? epochSeconds(this.#clock) : null;
    return { ...begun, status, completed_at, incomplete_details, output, usage };
  }
}

function usageOf({ usage }: ResponseObject): LineUsage | null {
  if (usage === null) return null;
  return {
    inputTokens: usage.input_tokens,
    cachedTokens: usage.input_tokens_details.cached_tokens,
    outputTokens: usage.output_tokens,
    reasoningTokens: usage.output_tokens_details.reasoning_tokens,
    // The response does not tell.
    estimated: false,
  };
}
