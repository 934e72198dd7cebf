import { reportedNames } from "../../../openapi/ignored-fields.ts";
import { findModel } from "../../admission/model-lookup.ts";
import { checkTier } from "../../auth/access-control.ts";
import { GenerationEndpoint, type GenerationEndpointDeps } from "../../generation/generation-endpoint.ts";
import { sendEvents } from "../../generation/output/sent-events.ts";
import { sendJson } from "../../http/respond.ts";
import { fromStore } from "../../http/store-error-response.ts";
import type { Exchange } from "../../inference/exchange.ts";
import type { ModelSet } from "../../models/model-set.ts";
import { type BackgroundQueue, type BackgroundReaderParts, backgroundReader } from "./background.ts";
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

  async answered(body: unknown, { req, res, caller, disconnected }: Exchange): Promise<boolean> {
    const { model: name, background }: { model?: unknown; background?: unknown } = Object(body);
    if (background !== true) return false;
    const { models, grammars, background: queue } = this.#deps;
    const read = await this.#read(body, caller.owner);
    const request = await grammars.run(read, caller.owner, disconnected);
    checkTier(caller, "batch");
    if (typeof name === "string") await models.search(name);
    const model = findModel(models, typeof name === "string" ? name : null, caller);
    const queued = request.queued({ ...queue.identity(), model: model.id });
    await fromStore(queue.add(caller, queued));
    if (request.ignored.length > 0) res.setHeader("x-nightshift-ignored", reportedNames(request.ignored).join(", "));
    if (queued.stream === null) sendJson(req, res, 200, JSON.stringify(queued.response));
    else {
      const events = queue.events(caller.owner, queued.response.id, disconnected);
      await fromStore(sendEvents(req, res, events, this.#deps.options));
    }
    return true;
  }
}
