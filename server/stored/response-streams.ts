import { ApiError, invalidRequest } from "../../openapi/api-error.ts";
import type { ResponseObject } from "../../openapi/responses/response.ts";
import type { Store } from "../../store/store.ts";
import type { ResponseStatus } from "../../store/types/answer-rows.ts";
import { BackgroundEvents } from "../dialects/responses/output/background-events.ts";
import { readSaid } from "../dialects/responses/output/said.ts";
import type { Seal } from "../dialects/responses/sealed-text.ts";
import { Changes } from "./changes.ts";
import { noResponse, type StoredResponses } from "./responses.ts";

export interface ResponseStreamsDeps {
  store: Pick<Store, "responseStreams">;
  responses: Pick<StoredResponses, "get">;
  /** Of the reasoning in responses. */
  seal: Seal;
}

/** The events of a response that a reader asks for. */
export interface EventsAsked {
  owner: string;
  id: string;
  /** The number of the last event that the reader has; -1 for none. */
  after: number;
  /** Aborted when the reader leaves. */
  signal: AbortSignal;
}

/** Milliseconds after which the store is read again: a batch that ends without its line ends the response unannounced. */
const RECHECK_MS = 15_000;
const OPEN: readonly ResponseStatus[] = ["queued", "in_progress"];

/**
 * The events of background responses that were created as streams. All of them are read from the store, where they are
 * before they are sent, so that every reader gets the same ones under the same numbers.
 */
export class ResponseStreams {
  readonly #deps: ResponseStreamsDeps;
  readonly #changes = new Changes();

  constructor(deps: ResponseStreamsDeps) {
    this.#deps = deps;
  }

  /** Outputs of this response were stored, or it ended. */
  changed(id: string): void {
    this.#changes.notify(id);
  }

  /** Ends all streams: the server stops, and their readers come again. */
  close(): void {
    this.#changes.close();
  }

  /**
   * Texts of a few whole events, or of none, until the response ends. Throws 404, and 400 for a response whose events are not
   * kept.
   */
  async *events({ owner, id, after, signal }: EventsAsked): AsyncGenerator<string> {
    const { store, seal, responses } = this.#deps;
    const watch = this.#changes.watch(id, signal);
    try {
      let place = -1;
      let events: BackgroundEvents | null = null;
      while (!watch.over) {
        const page = await store.responseStreams.read({ owner, id, after: place });
        // It was removed meanwhile.
        if (page === null && events !== null) return;
        if (page === null) throw noResponse(id);
        if (page.sealed === null) throw notStreamed(id);
        if (events === null) {
          const sealed = page.sealed === 1 ? (text: string) => seal.seal(text, owner) : null;
          events = new BackgroundEvents(JSON.parse(page.row.object), sealed, after);
          yield events.created();
        }
        for (const { number, said } of page.rows) {
          place = number;
          if (said === null) yield events.begin(number);
          else yield* events.said(readSaid(said));
        }
        if (page.more) continue;
        if (!OPEN.includes(page.row.status)) {
          const response = await responses.get(owner, id).catch(unlessGone);
          return yield response === null ? "" : events.end(response as ResponseObject);
        }
        if (page.rows.length === 0) await watch.change(RECHECK_MS);
      }
    } finally {
      watch.close();
    }
  }
}

function notStreamed(id: string): ApiError {
  const message = `Invalid 'stream': the response '${id}' was not created with 'background' and 'stream', so its events are not kept; omit it or send false.`;
  return invalidRequest("invalid_value", "stream", message);
}

/** The response was removed after its row was read. */
function unlessGone(error: unknown): null {
  if (error instanceof ApiError && error.status === 404) return null;
  throw error;
}
