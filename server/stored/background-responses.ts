import { type Batches, ResponseNotKept } from "../../batch/api/batches.ts";
import type { Jobs } from "../../batch/api/jobs.ts";
import { batchOfResponse } from "../../batch/api/response-batch.ts";
import type { Caller } from "../../ledger/key.ts";
import { ApiError, invalidRequest } from "../../openapi/api-error.ts";
import { type Clock, epochSeconds } from "../../platform/clock.ts";
import { objectId } from "../../platform/object-id.ts";
import type { BackgroundQueue, QueuedResponse } from "../dialects/responses/background.ts";
import type { BackgroundRuns } from "./background-runs.ts";
import type { StoredState } from "./response-state.ts";
import type { ResponseStreams } from "./response-streams.ts";
import type { StoredResponses } from "./responses.ts";

export interface BackgroundResponsesDeps {
  jobs: Pick<Jobs, "create" | "remove">;
  batches: Pick<Batches, "cancel">;
  responses: StoredResponses;
  state: StoredState;
  runs: Pick<BackgroundRuns, "cancelled">;
  streams: Pick<ResponseStreams, "events">;
  clock: Clock;
}

/** Background responses as clients see them: created, cancelled and removed together with the job that runs each. */
export class BackgroundResponses implements BackgroundQueue {
  readonly #deps: BackgroundResponsesDeps;

  constructor(deps: BackgroundResponsesDeps) {
    this.#deps = deps;
  }

  identity(): { id: string; created: number } {
    return { id: objectId("resp_"), created: epochSeconds(this.#deps.clock) };
  }

  async add(caller: Caller, { response, input, stream, body }: QueuedResponse): Promise<void> {
    const { jobs, state } = this.#deps;
    const sealed = stream?.sealed ? 1 : 0;
    const row = { ...state.row(caller, response, input), ...(stream !== null && { stream: { sealed } as const }) };
    const job = await jobs.create(caller, "/v1/responses", body, row).catch((error: unknown) => {
      throw error instanceof ResponseNotKept ? state.refused(error.keeping, row) : error;
    });
    if (job !== null) return;
    throw new ApiError(
      "request_too_large",
      "The input is too large with the items before it. Start anew, or send less.",
    );
  }

  events(owner: string, id: string, signal: AbortSignal): AsyncIterable<string> {
    return this.#deps.streams.events({ owner, id, after: -1, signal });
  }

  /** The response, which has ended. Throws 400 for one that did not run in the background. */
  async cancel(owner: string, id: string): Promise<object> {
    const { responses, runs } = this.#deps;
    const { background } = await responses.row(owner, id);
    if (background === 0) throw invalidRequest("invalid_value", null, "Cannot cancel a synchronous response.");
    await runs.cancelled(id);
    const response = await responses.get(owner, id);
    await this.#cancelBatch(owner, id);
    return response;
  }

  /** Cancels a response that runs, and removes it with the files of its job. */
  async remove(owner: string, id: string): Promise<void> {
    const { responses, runs, jobs } = this.#deps;
    const { background } = await responses.row(owner, id);
    if (background === 1) {
      await runs.cancelled(id);
      await jobs.remove(owner, id.replace("resp_", "job_")).catch(unlessOver);
    }
    await responses.remove(owner, id);
  }

  async #cancelBatch(owner: string, id: string): Promise<void> {
    await this.#deps.batches.cancel(owner, batchOfResponse(id)).catch(unlessOver);
  }
}

/** The batch has ended, or its row was removed. */
function unlessOver(error: unknown): void {
  if (!(error instanceof ApiError) || (error.status !== 404 && error.status !== 409)) throw error;
}
