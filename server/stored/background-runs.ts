import { responseOfBatch } from "../../batch/api/response-batch.ts";
import type { ResponseObject } from "../../openapi/responses/response.ts";
import type { Clock } from "../../platform/clock.ts";
import { failpoint } from "../../platform/failpoint.ts";
import { objectId } from "../../platform/object-id.ts";
import type { Store } from "../../store/store.ts";
import type { Unanswered } from "../../store/tables/background.ts";
import type { NewEvent } from "../../store/tables/outbox.ts";
import type { NewSaid } from "../../store/types/answer-rows.ts";
import type { EventType, WebhookEndpoints } from "../../webhooks/endpoint.ts";
import { webhookEvents } from "../../webhooks/outbox.ts";
import type { BackgroundStore, BegunResponse } from "../batch-lines/background-line.ts";
import type { RunStore } from "../batch-lines/run-journal.ts";
import { conversationFull, noConversation } from "./conversations.ts";
import { itemRow } from "./item.ts";
import type { ResponseStreams } from "./response-streams.ts";
import type { StoredResponses } from "./responses.ts";

export interface BackgroundRunsDeps {
  store: Pick<Store, "background" | "responseStreams">;
  webhooks: WebhookEndpoints;
  responses: Pick<StoredResponses, "get">;
  streams: Pick<ResponseStreams, "changed">;
  /** Called when events are in the outbox. */
  eventsQueued: () => void;
  clock: Clock;
}

/** The error of a background response without an answer. */
export interface ResponseFault {
  code: string;
  message: string;
}

/**
 * Background responses from the start of their batch line to their end. The end and its webhook events are one transaction.
 *
 * | from | to | by |
 * |---|---|---|
 * | queued | in_progress | the first start of the line |
 * | queued, in_progress | completed, incomplete | the line's answer |
 * | queued, in_progress | failed | a line that is refused or fails; the end of a batch whose line has no answer |
 * | queued, in_progress | cancelled | a cancellation of the response or of its batch |
 */
export class BackgroundRuns implements BackgroundStore {
  readonly #deps: BackgroundRunsDeps;

  constructor(deps: BackgroundRunsDeps) {
    this.#deps = deps;
  }

  /** The response that a batch runs: in progress from now on, or ended. Null for a batch that runs none. */
  async begin(owner: string, batchId: string): Promise<BegunResponse | null> {
    const { store } = this.#deps;
    const id = responseOfBatch(batchId);
    const found = await store.responseStreams.read({ owner, id, after: Number.MAX_SAFE_INTEGER });
    if (found === null || found.row.background === 0) return null;
    if (found.row.status === "queued") await store.background.begin({ owner, id });
    return { row: found.row, stream: found.sealed === null ? null : this.#stream(id) };
  }

  async whole(owner: string, id: string): Promise<ResponseObject> {
    return (await this.#deps.responses.get(owner, id)) as ResponseObject;
  }

  /**
   * Durable when it resolves. A response that was cancelled or removed meanwhile stays so. Throws the ApiError of a
   * conversation that takes no items.
   */
  async answered(owner: string, response: ResponseObject, said: NewSaid | null): Promise<void> {
    const { id, status, output } = response;
    if (status !== "completed" && status !== "incomplete") throw new Error(`a response ended as ${status}`);
    const object = JSON.stringify({ ...response, output: [] });
    const events = this.#events(`response.${status}`, id);
    const end = { id, owner, status, object, output: output.map(itemRow), said, events };
    const outcome = await this.#deps.store.background.answered(end);
    const conversation = response.conversation?.id ?? "";
    if (outcome === "absent_conversation") throw noConversation(conversation);
    if (outcome === "too_many_items") throw conversationFull(conversation);
    if (outcome === "answered") this.#ended(id);
  }

  async failed(id: string, fault: ResponseFault): Promise<void> {
    await this.#unanswered(this.#end(id, "failed", fault));
  }

  async cancelled(id: string): Promise<void> {
    await this.#unanswered(this.#end(id, "cancelled", null));
  }

  /** The end of the response whose batch ends, unless its line has ended it. */
  endWith(batch: { id: string; cancelled: boolean; reason: string }): Unanswered {
    const id = responseOfBatch(batch.id);
    if (batch.cancelled) return this.#end(id, "cancelled", null);
    return this.#end(id, "failed", { code: "server_error", message: batch.reason });
  }

  async #unanswered(end: Unanswered): Promise<void> {
    if (await this.#deps.store.background.unanswered(end)) this.#ended(end.id);
  }

  #ended(id: string): void {
    this.#deps.eventsQueued();
    this.#deps.streams.changed(id);
  }

  /** Outputs of a response that was ended meanwhile are left out. */
  #stream(id: string): RunStore {
    const { store, streams } = this.#deps;
    return {
      async begin() {
        await store.responseStreams.beginRun({ id });
        streams.changed(id);
      },
      async say(said) {
        await store.responseStreams.say({ id, ...said });
        failpoint("response.said");
        streams.changed(id);
      },
    };
  }

  #end(id: string, status: Unanswered["status"], fault: ResponseFault | null): Unanswered {
    const error = fault === null ? null : JSON.stringify(fault);
    return { id, status, error, events: this.#events(`response.${status}`, id) };
  }

  #events(type: EventType, id: string): NewEvent[] {
    const { webhooks, clock } = this.#deps;
    return webhookEvents(webhooks, { id: objectId("evt_"), type, data: { id }, nowMs: Math.floor(clock.epochMs()) });
  }
}
