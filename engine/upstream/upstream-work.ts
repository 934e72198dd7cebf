import { ApiError } from "../../openapi/api-error.ts";
import type { Ticket, WorkListener } from "../engine.ts";
import type { Tier } from "../protocol/request.ts";
import type { Classified } from "./answer/answer-class.ts";
import type { UpstreamEvent } from "./answer/event-reader.ts";
import { attemptEvents } from "./attempt.ts";
import { attempts } from "./attempts.ts";
import type { HedgeTerms } from "./hedged-outcome.ts";
import type { Visit } from "./replica/replica.ts";
import type { UpstreamAccess } from "./upstream-access.ts";

/** A request of one kind: a generation or an embedding. */
export interface WorkRequest {
  readonly tier: Tier;
  /** Estimates: the upstream counts at the end. `answerTokens` is 0 where there is no bound. */
  readonly promptTokens: number;
  readonly answerTokens: number;
  /** Its choices or inputs. */
  readonly sequences: number;
  /** Of the prompt, as prefix-blocks.ts has them. */
  readonly blocks: readonly number[];
  /** The text of the prompt, where the client asked for it. */
  readonly echo: string | null;
  /** Null for a request that has no first content before the whole. */
  readonly hedge: HedgeTerms | null;
  /** True once the client may have seen a part of the answer: no other attempt is made then. */
  readonly begun: boolean;
  /**
   * One attempt, at the replica of the visit: reads the answer to its end, and resolves with its tokens and those of the prompt. It
   * claims the visit before it passes anything on. Throws AttemptFailure.
   */
  attempt(work: UpstreamWork, visit: Visit): Promise<number>;
  /** Its place is needed: true once nothing is left of what was passed on of its answer, and it may begin anew. */
  mayPreempt(): boolean;
  attemptFailed(failed: Classified): void;
  /** The error with the name of the field at fault. */
  named(error: ApiError): ApiError;
}

export interface WorkParts {
  access: UpstreamAccess;
  request: WorkRequest;
  listener: WorkListener;
  /** The work is over. */
  ended: (work: UpstreamWork) => void;
}

/** One request at an upstream, from its submission to its end: attempts at replicas until one succeeds. */
export class UpstreamWork implements Ticket {
  readonly #parts: WorkParts;
  readonly #abort = new AbortController();
  #over = false;

  constructor(parts: WorkParts) {
    this.#parts = parts;
  }

  /** True once the listener gets no event any more. */
  get over(): boolean {
    return this.#over;
  }

  /** Runs it to its end, which its listener gets. Never rejects: a listener that throws ends its own request alone. */
  async run(): Promise<void> {
    const { access, request, listener } = this.#parts;
    try {
      // A listener gets nothing within the call that submits.
      await Promise.resolve();
      if (this.#over) return;
      listener.accepted(request.promptTokens, request.echo, true);
      const error = await attempts({
        access,
        tier: request.tier,
        tokens: request.promptTokens + request.answerTokens,
        sequences: request.sequences,
        blocks: request.blocks,
        hedge: request.hedge,
        signal: this.#abort.signal,
        content: () => request.begun,
        attempt: async (visit) => {
          const tokens = await request.attempt(this, visit);
          visit.rate?.settle(tokens);
        },
        mayPreempt: () => this.#mayPreempt(),
        failed: (failed) => request.attemptFailed(failed),
      });
      if (error !== null) this.#fail(request.named(error));
    } catch (thrown) {
      this.#broken(thrown);
    }
  }

  cancel(): void {
    if (this.#over) return;
    this.end();
    this.#abort.abort();
  }

  /** The answer is complete: what it passes to the listener behind this call is the last. */
  end(): void {
    this.#over = true;
    this.#parts.ended(this);
  }

  /** The events of the answer to a request that is sent to the replica of the visit; none once it was taken back. */
  async *events({ replica, withdrawn }: Visit, path: string, body: object): AsyncGenerator<readonly UpstreamEvent[]> {
    const { access, request } = this.#parts;
    const { firstEvent, silence, batchSilence } = access.config.timeouts;
    const marks = access.marks(request.tier);
    const events = attemptEvents({
      dispatcher: access.dispatcher,
      url: `${replica.url}${path}`,
      headers: { ...access.headers, ...marks.headers },
      body: JSON.stringify({ ...body, ...marks.body }),
      signal: AbortSignal.any([this.#abort.signal, withdrawn]),
      answered: (header) => access.rate.answered(header),
      timeouts: { firstEvent, silence: request.tier === "batch" ? batchSilence : silence },
    });
    for await (const list of events) {
      withdrawn.throwIfAborted();
      yield list;
    }
    withdrawn.throwIfAborted();
  }

  /** Called within the entrance of another request, which is not to blame for a listener that throws. */
  #mayPreempt(): boolean {
    if (this.#over) return false;
    try {
      return this.#parts.request.mayPreempt();
    } catch (thrown) {
      this.#broken(thrown);
      return false;
    }
  }

  #fail(error: ApiError): void {
    if (this.#over) return;
    this.end();
    this.#parts.listener.failed(error);
  }

  /** An unexpected error, such as that of a listener. */
  #broken(thrown: unknown): void {
    const { access } = this.#parts;
    access.broken(thrown);
    this.#abort.abort();
    try {
      this.#fail(new ApiError("internal_error", "The server failed at this request. Its log has the cause."));
    } catch (again) {
      access.broken(again);
    }
  }
}
