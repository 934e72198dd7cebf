import { sendJson } from "../../http/respond.ts";
import type { InferenceEndpoint, InferenceRequest } from "../../inference/endpoint.ts";
import type { Exchange } from "../../inference/exchange.ts";
import type { ModelSet } from "../../models/model-set.ts";
import type { Residency } from "../../models/residency.ts";
import type { Router } from "../../routing/router.ts";
import { TokenRun } from "../../tokenize/token-run.ts";
import { type LoadRequest, type PromptField, readLoad } from "./load.ts";
import { namedModel, routedName } from "./model-name.ts";

export interface OllamaEndpointDeps {
  models: ModelSet;
  residency: Pick<Residency, "unload">;
  router: Pick<Router, "reaches">;
}

export interface OllamaEndpointParts {
  /** The endpoint of a body with a prompt. */
  prompted: InferenceEndpoint;
  /** The fields that have the prompt. */
  prompt: readonly PromptField[];
  /** The answer to a request without a prompt. */
  empty(model: string, reason: "load" | "unload"): object;
}

/** An endpoint whose requests name models with a tag, and whose requests without a prompt load or unload theirs. */
export class OllamaEndpoint implements InferenceEndpoint {
  readonly label: InferenceEndpoint["label"];
  readonly refusesUnread = true;
  readonly anyContentType = true;
  readonly #parts: OllamaEndpointParts;
  readonly #deps: OllamaEndpointDeps;

  constructor(parts: OllamaEndpointParts, deps: OllamaEndpointDeps) {
    this.label = parts.prompted.label;
    this.#parts = parts;
    this.#deps = deps;
  }

  /** Unloads a model, which must not be loaded for that. */
  async answered(body: unknown, { req, res, caller }: Exchange): Promise<boolean> {
    const load = readLoad(body, this.#parts.prompt);
    if (load === null || !load.unload) return false;
    const { id } = await namedModel(this.#deps.models, load.model, caller);
    await this.#deps.residency.unload(id);
    sendJson(req, res, 200, this.#emptyAnswer(load));
    return true;
  }

  async parse(body: unknown, exchange: Exchange): Promise<InferenceRequest> {
    const load = readLoad(body, this.#parts.prompt);
    const request = load === null ? await this.#parts.prompted.parse(body, exchange) : this.#loading(load);
    return { ...request, model: await routedName(this.#deps, request.model ?? "", exchange.caller) };
  }

  #loading(load: LoadRequest): InferenceRequest {
    return {
      model: load.model,
      tier: null,
      jobEndpoint: null,
      metered: false,
      ignored: [],
      prepare: (ready) => new TokenRun(ready, async () => this.#emptyAnswer(load)),
    };
  }

  #emptyAnswer({ model, unload }: LoadRequest): string {
    return JSON.stringify(this.#parts.empty(model, unload ? "unload" : "load"));
  }
}
