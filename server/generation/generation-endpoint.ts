import type { Prices } from "../../ledger/prices.ts";
import type { GenerationPath } from "../../openapi/inference-path.ts";
import { BATCH_ENDPOINTS, type BatchEndpoint } from "../../openapi/resources/batches.ts";
import type { ReadyModel } from "../admission/ready-model.ts";
import { requireTask } from "../admission/task-check.ts";
import type { Grammars } from "../grammar/grammar-compiler.ts";
import type { InferenceEndpoint, InferenceRequest } from "../inference/endpoint.ts";
import type { Exchange } from "../inference/exchange.ts";
import { TokenRun } from "../tokenize/token-run.ts";
import { dryRun } from "./dry-run.ts";
import { GenerationRun, type GenerationRunDeps } from "./generation-run.ts";
import { checkInfill } from "./infill-prompt.ts";
import type { GenerationRequest } from "./request.ts";
import { checkTokens } from "./token-id-check.ts";

/** The parser of one API. It returns the writers of the answer along with the request. */
export interface Dialect {
  readonly endpoint: GenerationPath;
  /** The prefix of the ids of answers, with its divider. */
  readonly idPrefix: string;
  /** Throws the ApiError of an invalid body. */
  read(body: unknown): GenerationRequest;
}

export interface GenerationEndpointDeps extends GenerationRunDeps {
  grammars: Grammars;
  /** For estimates of dry runs; the ledger prices by itself. */
  prices: Pick<Prices, "costNano">;
}

/** An endpoint that generates. */
export class GenerationEndpoint implements InferenceEndpoint {
  readonly label: GenerationPath;
  readonly refusesUnread = true;
  readonly #dialect: Dialect;
  readonly #deps: GenerationEndpointDeps;

  constructor(dialect: Dialect, deps: GenerationEndpointDeps) {
    this.label = dialect.endpoint;
    this.#dialect = dialect;
    this.#deps = deps;
  }

  async parse(body: unknown, { caller, disconnected }: Exchange): Promise<InferenceRequest> {
    const request = await this.#deps.grammars.run(() => this.#dialect.read(body), caller.owner, disconnected);
    const { model, tier, stream } = request;
    return {
      model,
      tier,
      jobEndpoint: stream || request.dryRun ? null : jobEndpoint(this.label),
      metered: !request.dryRun,
      ignored: request.ignored,
      prepare: (ready) => this.#prepare(request, ready),
    };
  }

  #prepare(request: GenerationRequest, ready: ReadyModel): TokenRun | GenerationRun {
    requireTask(ready.facts, "generate");
    request.checkModel?.(ready.facts);
    checkInfill(request.submissions, ready.facts);
    checkTokens(request.submissions, ready.facts);
    if (!request.dryRun) return new GenerationRun(request, ready, this.#dialect, this.#deps);
    return new TokenRun(ready, async (tokenize) =>
      JSON.stringify(await dryRun(request, ready, this.#deps.prices, tokenize)),
    );
  }
}

/** Jobs are batches: an endpoint that these lack is not deferred. */
function jobEndpoint(path: GenerationPath): BatchEndpoint | null {
  return BATCH_ENDPOINTS.find((endpoint) => endpoint === path) ?? null;
}
