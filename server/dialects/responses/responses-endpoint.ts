import { reportedNames } from "../../../openapi/ignored-fields.ts";
import { findModel } from "../../admission/model-lookup.ts";
import { checkTier } from "../../auth/access-control.ts";
import { GenerationEndpoint, type GenerationEndpointDeps } from "../../generation/generation-endpoint.ts";
import { sendEvents } from "../../generation/output/sent-events.ts";
import { sendJson } from "../../http/respond.ts";
import { fromStore } from "../../http/store-error-response.ts";
import type { Exchange } from "../../inference/exchange.ts";
import type { ModelSet } from "../../models/model-set.ts";
import {
  type BackgroundQueue,
  type BackgroundReaderParts,
  backgroundReader,
  type QueuedResponse,
} from "./background.ts";
import { responsesDialect } from "./responses.ts";

export interface ResponsesEndpointDeps extends GenerationEndpointDeps {
  models: ModelSet;
  background: BackgroundQueue;
}

/** POST /v1/responses. A background response is queued, for which its model need not be in memory. */
export class ResponsesEndpoint extends GenerationEndpoint {
  readonly #read: ReturnType<typeof backgroundReader>;
  readonly #deps: ResponsesEndpointDeps;

  constructor(parts: BackgroundReaderParts, deps: ResponsesEndpointDeps) {
    super(responsesDialect(parts), deps);
    this.#read = backgroundReader(parts);
    this.#deps = deps;
  }

  async answered(body: unknown, exchange: Exchange): Promise<boolean> {
    const { background }: { background?: unknown } = Object(body);
    if (background !== true) return false;
    const { response, stream, ignored } = await this.#queue(body, exchange);
    const { req, res, caller, disconnected } = exchange;
    if (ignored.length > 0) res.setHeader("x-nightshift-ignored", reportedNames(ignored).join(", "));
    if (stream === null) sendJson(req, res, 200, JSON.stringify(response));
    else {
      const events = this.#deps.background.events(caller.owner, response.id, disconnected);
      await fromStore(sendEvents(req, res, events, this.#deps.options));
    }
    return true;
  }

  async #queue(body: unknown, { caller, disconnected }: Exchange): Promise<QueuedResponse> {
    const { model: name }: { model?: unknown } = Object(body);
    const { models, grammars, background: queue } = this.#deps;
    const locks: (() => void)[] = [];
    try {
      const read = await this.#read(body, caller.owner, (release) => locks.push(release));
      const queuedFor = await grammars.run(read, caller.owner, disconnected);
      checkTier(caller, "batch");
      if (typeof name === "string") await models.search(name);
      const model = findModel(models, typeof name === "string" ? name : null, caller);
      const queued = queuedFor({ ...queue.identity(), model: model.id });
      await fromStore(queue.add(caller, queued));
      return queued;
    } finally {
      // The queued response itself locks its conversation.
      for (const release of locks) release();
    }
  }
}
