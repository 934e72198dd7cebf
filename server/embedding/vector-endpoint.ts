import type { VectorPath } from "../../openapi/inference-path.ts";
import { checkInputs, requireTask } from "../admission/task-check.ts";
import type { InferenceEndpoint, InferenceRequest } from "../inference/endpoint.ts";
import type { VectorRequest } from "./vector-request.ts";
import { VectorRun, type VectorRunDeps } from "./vector-run.ts";

/** An endpoint of embeddings or ranks: it generates no tokens. */
export class VectorEndpoint implements InferenceEndpoint {
  readonly label: VectorPath;
  readonly refusesUnread = true;
  readonly #read: (body: unknown) => VectorRequest;
  readonly #deps: VectorRunDeps;

  /** `read` throws the ApiError of an invalid body. */
  constructor(label: VectorPath, read: (body: unknown) => VectorRequest, deps: VectorRunDeps) {
    this.label = label;
    this.#read = read;
    this.#deps = deps;
  }

  parse(body: unknown): InferenceRequest {
    return this.#inferenceRequest(this.#read(body));
  }

  #inferenceRequest(request: VectorRequest): InferenceRequest {
    return {
      ...(request.openTier === true && {
        asFlex: () => this.#inferenceRequest({ ...request, tier: "flex", openTier: false }),
      }),
      model: request.model,
      tier: request.tier,
      jobEndpoint: null,
      metered: true,
      ignored: request.ignored,
      prepare: (ready, { caller }) => {
        requireTask(ready.facts, request.task);
        checkInputs(request, ready.facts);
        return new VectorRun({ request, ready, owner: caller.owner, endpoint: this.label }, this.#deps);
      },
    };
  }
}
